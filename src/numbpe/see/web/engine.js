// Encoding as numbpe does it, step by step. Knows no page: text in, traces out.
// A trace is a list of segments; a segment has `text`, `ids` (or `rows`) and `merges`, the steps
// from its symbols to its tokens.

const BYTES = new TextEncoder();

function makeClass(bounds) {
  const parts = [];
  for (let i = 0; i < bounds.length; i += 2) {
    const [first, last] = [bounds[i], bounds[i + 1] - 1];
    parts.push(`\\u{${first.toString(16)}}` + (last > first ? `-\\u{${last.toString(16)}}` : ""));
  }
  return `[${parts.join("")}]`;
}

// Classes are lists of code points from Python, so that every browser cuts by one Unicode version.
export function makeRegExp(source, classes) {
  return new RegExp(source.replace(/<(\d+)>/g, (_, number) => makeClass(classes[number])), "gu");
}

// What lies between matches is a piece too; each split cuts the pieces of the one before.
export function splitPieces(text, splits) {
  let pieces = text ? [text] : [];
  for (const split of splits) {
    const finer = [];
    for (const piece of pieces) {
      let end = 0;
      for (const match of piece.matchAll(split)) {
        if (!match[0]) continue;
        if (match.index > end) finer.push(piece.slice(end, match.index));
        finer.push(match[0]);
        end = match.index + match[0].length;
      }
      if (end < piece.length) finer.push(piece.slice(end));
    }
    pieces = finer;
  }
  return pieces;
}

// Bytes as a string of characters up to U+00FF: the form in which the page holds tokens.
export function toByteString(text) {
  const bytes = BYTES.encode(text);
  let result = "";
  for (let i = 0; i < bytes.length; i += 4096)
    result += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return result;
}

// Cut at added tokens: leftmost, then longest.
function cutAdded(text, tokens, finder) {
  const parts = [];
  let end = 0;
  if (finder)
    for (const match of text.matchAll(finder)) {
      if (match.index > end) parts.push({ text: text.slice(end, match.index), isStart: end === 0 });
      parts.push({ text: match[0], id: tokens.get(match[0]) });
      end = match.index + match[0].length;
    }
  if (end < text.length) parts.push({ text: text.slice(end), isStart: end === 0 });
  return parts;
}

function makeFinder(tokens) {
  const longestFirst = [...tokens.keys()].sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return escaped.length ? new RegExp(escaped.join("|"), "gu") : null;
}

function applySteps(steps, text, isFirst) {
  for (const step of steps) {
    if (step.type === "Normalization") text = text.normalize(step.form);
    else if (step.type === "Replace") text = text.replaceAll(step.pattern, () => step.content);
    else if (step.type === "Prepend") {
      const stays = !text || (step.firstOnly && !isFirst) || (step.unless && text.startsWith(step.unless));
      text = stays ? text : step.content + text;
    }
  }
  return text;
}

// Merge the pair of lowest rank, then leftmost, one at a time; `merges` tells each.
export function mergeSymbols(symbols, findMerge) {
  const ids = Float64Array.from(symbols);
  let n = ids.length;
  const ranks = new Float64Array(Math.max(n - 1, 0));
  const look = (i) => findMerge(ids[i], ids[i + 1])?.rank ?? Infinity;
  for (let i = 0; i + 1 < n; i++) ranks[i] = look(i);
  const merges = [];
  while (n > 1) {
    let at = -1;
    let least = Infinity;
    for (let i = 0; i + 1 < n; i++) if (ranks[i] < least) [least, at] = [ranks[i], i];
    if (at < 0) break;
    const { result } = findMerge(ids[at], ids[at + 1]);
    merges.push({ at, rank: least, left: ids[at], right: ids[at + 1], result });
    ids[at] = result;
    ids.copyWithin(at + 1, at + 2, n);
    ranks.copyWithin(at, at + 1, n - 1);
    n--;
    if (at + 1 < n) ranks[at] = look(at);
    if (at > 0) ranks[at - 1] = look(at - 1);
  }
  return { ids: Array.from(ids.subarray(0, n)), merges };
}

export class StandardEngine {
  constructor(data) {
    Object.assign(this, { data, name: data.name, rows: data.rows, tokens: data.tokens });
    this.splits = data.splits.map((source) => makeRegExp(source, data.classes));
    this.raw = new Map(data.added);
    this.normalized = new Map(data.normalizedAdded);
    this.rawFinder = makeFinder(this.raw);
    this.normalizedFinder = makeFinder(this.normalized);
    this.addedIds = new Set([...this.raw.values(), ...this.normalized.values()]);
    const special = new Set(data.notOrdinary);
    this.ids = new Map();
    data.tokens.forEach((token, id) => {
      if (token && !special.has(id)) this.ids.set(token, id);
    });
    this.merges = new Map();
    const { merges } = data;
    for (let i = 0; i < merges.length; i += 3) {
      const rank = data.byResult ? merges[i + 2] : i / 3;
      this.merges.set(this.key(merges[i], merges[i + 1]), { rank, result: merges[i + 2] });
    }
    this.findMerge = (left, right) => this.merges.get(this.key(left, right));
    this.known = new Map();
  }

  key(left, right) {
    return left * this.tokens.length + right;
  }

  // The symbols that merging begins with.
  listSymbols(piece) {
    const { overCharacters, byteFallback, unkId, fuseUnk } = this.data;
    const parts = overCharacters ? Array.from(piece, toByteString) : Array.from(toByteString(piece));
    const symbols = [];
    let wasUnknown = false;
    for (const part of parts) {
      let isUnknown = false;
      const names = Array.from(part, (byte) => this.ids.get(nameByte(byte)));
      if (this.ids.has(part)) symbols.push(this.ids.get(part));
      else if (byteFallback && names.every((id) => id !== undefined)) symbols.push(...names);
      else if (unkId === null) throw new Error(`the vocabulary has no token for ${showToken(part)}`);
      else {
        isUnknown = true;
        if (!(wasUnknown && fuseUnk)) symbols.push(unkId);
      }
      wasUnknown = isUnknown;
    }
    return symbols;
  }

  encodePiece(piece) {
    let found = this.known.get(piece);
    if (!found) {
      const whole = this.data.ignoreMerges ? this.ids.get(toByteString(piece)) : undefined;
      const symbols = whole === undefined ? this.listSymbols(piece) : [whole];
      found = { kind: "piece", text: piece, symbols, ...mergeSymbols(symbols, this.findMerge) };
      found.isWhole = whole !== undefined;
      if (this.known.size < 50000) this.known.set(piece, found);
    }
    return found;
  }

  encode(text) {
    const { normalizer, preparation } = this.data;
    const segments = [];
    const add = (part) => segments.push({ kind: "added", text: part.text, ids: [part.id], merges: [], symbols: [part.id] });
    let isFirstPart = true;
    for (const raw of cutAdded(text.toWellFormed(), this.raw, this.rawFinder)) {
      if (raw.id !== undefined) add(raw);
      else {
        const changed = applySteps(normalizer, raw.text, raw.isStart);
        for (const part of cutAdded(changed, this.normalized, this.normalizedFinder)) {
          if (part.id !== undefined) add(part);
          else {
            const isFirst = isFirstPart && raw.isStart && part.isStart;
            const prepared = applySteps(preparation, part.text, isFirst);
            for (const piece of splitPieces(prepared, this.splits)) segments.push(this.encodePiece(piece));
          }
          isFirstPart = false;
        }
      }
      isFirstPart = false;
    }
    return segments;
  }

  // What the ids of a segment are called.
  listTokens(segment) {
    return segment.ids.map((id) => ({ text: showToken(this.tokens[id]), label: String(id) }));
  }

  listNumbers(segment) {
    return segment.ids;
  }

  countSteps(segment) {
    return segment.merges.length + 1;
  }
}

export class CombinatorialEngine {
  constructor(data) {
    Object.assign(this, { data, name: data.name, rows: data.rows });
    const [alphanumeric, letters, numbers, afterWord, upper, lower] = [0, 1, 2, 3, 4, 5].map((i) => makeClass(data.classes[i]));
    const other = alphanumeric.replace("[", "[^");
    const behind = data.punctToNext ? "()" : `(${afterWord}*)`;
    this.units = new RegExp(`(${other}*)(${letters}+|${numbers}+)${behind}|(${other}+)`, "gu");
    this.camel = new RegExp(`(?<=${lower})(?=${upper})|(?<=${upper})(?=${upper}${lower})`, "u");
    this.special = new Map(data.special);
    this.specialFinder = makeFinder(this.special);
    this.folds = new Map(data.folds.map(([from, to, mark]) => [from, [to, mark]]));
    this.toTraditional = new Set(data.toTraditional);
    this.prefixes = new Map(data.prefixes.map((prefix, row) => [prefix, row]));
    this.suffixes = new Map(data.suffixes.map((suffix, row) => [suffix, row]));
    // Strings get small numbers, so that the merging of the standard engine serves here.
    this.strings = [];
    this.numbers = new Map();
    this.cores = new Map();
    data.alphabet.forEach((character, i) => this.addCore(character, 256 + i));
    this.merges = new Map();
    data.merges.forEach(([left, right], rank) => {
      this.addCore(left + right, 256 + data.alphabet.length + rank);
      const key = `${left.length} ${left}${right}`;
      this.merges.set(key, rank);
    });
    this.known = new Map();
  }

  addCore(text, core) {
    if (!this.cores.has(text)) this.cores.set(text, core);
  }

  getRank(left, right) {
    return this.merges.get(`${left.length} ${left}${right}`);
  }

  // The pair of lowest rank is merged everywhere, from the left, then the next.
  splitCore(text) {
    let parts = Array.from(text);
    const merges = [];
    for (;;) {
      let least = Infinity;
      for (let i = 0; i + 1 < parts.length; i++) least = Math.min(least, this.getRank(parts[i], parts[i + 1]) ?? Infinity);
      if (least === Infinity) return { parts, merges };
      const merged = [];
      for (let i = 0; i < parts.length; i++)
        if (i + 1 < parts.length && this.getRank(parts[i], parts[i + 1]) === least) merged.push(parts[i] + parts[++i]);
        else merged.push(parts[i]);
      merges.push({ rank: least, before: parts, after: merged });
      parts = merged;
    }
  }

  findVariation(piece, marks) {
    if (marks.every((mark) => mark === 0)) return 0;
    if (!marks.includes(2)) {
      if (marks[0] === 1 && !marks.slice(1).includes(1)) return 1;
      return marks.every((mark) => mark === 1) ? 2 : null;
    }
    if (marks.includes(1)) return null;
    return Array.from(piece).every((c, i) => !this.toTraditional.has(c) || marks[i] === 2) ? 3 : null;
  }

  encodeBare(text) {
    const rows = [];
    for (const piece of this.splitCore(text).parts) {
      if (this.cores.has(piece)) rows.push([0, 0, this.cores.get(piece), 0]);
      else for (const byte of BYTES.encode(piece)) rows.push([0, 0, byte, 0]);
    }
    return rows;
  }

  encodeWord(word) {
    const characters = Array.from(word);
    const folds = characters.map((character) => this.folds.get(character) ?? [character, 0]);
    const folded = folds.map(([character]) => character);
    const { parts, merges } = this.splitCore(folded.join(""));
    const rows = [];
    let place = 0;
    for (const piece of parts) {
      const stop = place + Array.from(piece).length;
      const variation = this.findVariation(piece, folds.slice(place, stop).map(([, mark]) => mark));
      if (this.cores.has(piece) && variation !== null) rows.push([variation, 0, this.cores.get(piece), 0]);
      else
        for (let i = place; i < stop; i++) {
          const core = this.cores.get(folded[i]);
          if (this.cores.has(piece) && core !== undefined) rows.push([[0, 1, 3][folds[i][1]], 0, core, 0]);
          else for (const byte of BYTES.encode(characters[i])) rows.push([0, 0, byte, 0]);
        }
      place = stop;
    }
    return { word, folded: folded.join(""), merges, parts, rows };
  }

  encodeUnit(before, word, behind) {
    const unit = { kind: "unit", text: before + word + behind, before, word, behind, prefix: "", suffix: "", words: [] };
    if (!word) return { ...unit, rows: this.encodeBare(before) };
    for (let i = 0; i < before.length && !unit.prefix; i++) if (this.prefixes.has(before.slice(i))) unit.prefix = before.slice(i);
    for (let i = behind.length; i > 0 && !unit.suffix; i--) if (this.suffixes.has(behind.slice(0, i))) unit.suffix = behind.slice(0, i);
    const words = this.data.splitCamel ? word.split(this.camel).filter(Boolean) : [word];
    unit.words = words.map((part) => this.encodeWord(part));
    const rows = unit.words.flatMap((part) => part.rows.map((row) => [...row]));
    rows[0][1] = this.prefixes.get(unit.prefix);
    rows.at(-1)[3] = this.suffixes.get(unit.suffix);
    const head = before.slice(0, before.length - unit.prefix.length);
    return { ...unit, rows: [...this.encodeBare(head), ...rows, ...this.encodeBare(behind.slice(unit.suffix.length))] };
  }

  encode(text) {
    const segments = [];
    for (const part of cutAdded(text.toWellFormed(), this.special, this.specialFinder)) {
      if (part.id !== undefined) segments.push({ kind: "added", text: part.text, rows: [[0, 0, part.id, 0]], words: [] });
      else
        for (const match of part.text.matchAll(this.units)) {
          const [whole, before, word, behind, alone] = match;
          let unit = this.known.get(whole);
          if (!unit) {
            unit = alone ? this.encodeUnit(alone, "", "") : this.encodeUnit(before, word, behind);
            if (this.known.size < 50000) this.known.set(whole, unit);
          }
          segments.push(unit);
        }
    }
    return segments;
  }

  spellCore(core) {
    const { alphabet, merges, special } = this.data;
    if (core < 256) return showToken(String.fromCharCode(core));
    if (core < 256 + alphabet.length) return showText(alphabet[core - 256]);
    const merge = merges[core - 256 - alphabet.length];
    return showText(merge ? merge.join("") : special[core - 256 - alphabet.length - merges.length][0]);
  }

  listTokens(segment) {
    const { prefixes, suffixes, variations } = this.data;
    return segment.rows.map((row) => {
      const [variation, prefix, core, suffix] = row;
      const label = `(${row.join(", ")})`;
      const parts = [
        ["prefix", showText(prefixes[prefix])],
        ["core", this.spellCore(core)],
        ["suffix", showText(suffixes[suffix])],
        ["variation", variation ? variations[variation] : ""],
      ];
      return { parts, label, text: parts.map(([, text]) => text).join("") };
    });
  }

  listNumbers(segment) {
    return segment.rows;
  }

  countSteps(segment) {
    return segment.kind === "added" || !segment.word ? 1 : 2 + segment.words.reduce((n, word) => n + word.merges.length, 0);
  }
}

function nameByte(byte) {
  return `<0x${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}>`;
}

const SHOWN = { " ": "\u00b7", "\n": "\u23ce", "\t": "\u2192", "\r": "\u240d" };

export function showText(text) {
  return Array.from(text, (c) => SHOWN[c] ?? (/[\p{C}\p{Z}]/u.test(c) ? `\\u{${c.codePointAt(0).toString(16)}}` : c)).join("");
}

// A token, bytes as a string of characters up to U+00FF, made visible.
export function showToken(token) {
  const bytes = Uint8Array.from(token, (c) => c.charCodeAt(0));
  try {
    return showText(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    let result = "";
    for (let i = 0; i < bytes.length; ) {
      let taken = 0;
      for (let n = Math.min(4, bytes.length - i); n > 0 && !taken; n--) {
        try {
          result += showText(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(i, i + n)));
          taken = n;
        } catch {}
      }
      if (!taken) result += `\\x${bytes[i].toString(16).padStart(2, "0")}`;
      i += taken || 1;
    }
    return result;
  }
}

export async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Response(bytes).body.pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

export function makeEngine(data) {
  return data.kind === "combinatorial" ? new CombinatorialEngine(data) : new StandardEngine(data);
}
