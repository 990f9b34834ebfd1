// The stepper's page: one panel for each kind of tokenizer, both fed from one text.

import { makeEngine, showText, showToken, unpack } from "./engine.js";

const MAX_SHOWN_TOKENS = 2000;
const MAX_SHOWN_SYMBOLS = 400;
const PLAY_MS = 700;

// Everything that is shown goes through text nodes and attributes: no string becomes markup.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

class Panel {
  constructor(kind, engines, number) {
    Object.assign(this, { kind, engines, engine: engines[0], prefix: `panel-${number}` });
    this.step = 0;
    this.segments = [];
    this.starts = [0];
    this.makeElements();
  }

  makeElements() {
    const title = this.kind === "standard" ? "Standard BPE" : "Combinatorial BPE";
    const id = (name) => `${this.prefix}-${name}`;
    this.select = make("select", { id: id("table") });
    this.engines.forEach((engine, i) => this.select.append(make("option", { value: i }, engine.name)));
    this.select.addEventListener("change", () => {
      this.engine = this.engines[this.select.value];
      this.encode(this.text);
    });
    this.figures = make("dl", { className: "figures" });
    this.buttons = {};
    const bar = make("div", { className: "bar", role: "group", "aria-label": `Steps, ${title}` });
    const commands = [
      ["first", "First", "Home", () => this.go(0)],
      ["back", "Back", "ArrowLeft", () => this.go(this.step - 1)],
      ["next", "Next", "ArrowRight", () => this.go(this.step + 1)],
      ["piece", "Next piece", "PageDown", () => this.goToPiece(1)],
      ["last", "Last", "End", () => this.go(this.nSteps)],
      ["play", "Play", "", () => this.togglePlay()],
    ];
    for (const [name, label, key, run] of commands) {
      const button = make("button", { type: "button", id: id(name) }, label);
      if (key) {
        button.setAttribute("aria-keyshortcuts", key);
        button.title = key.replace(/(?<=[a-z])(?=[A-Z])/, " ");
      }
      button.addEventListener("click", run);
      this.buttons[name] = button;
      bar.append(button);
    }
    this.slider = make("input", { type: "range", id: id("slider"), min: 0, value: 0, "aria-label": `Step, ${title}` });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.status = make("p", { className: "status", id: id("status"), role: "status", "aria-live": "polite" });
    this.stage = make("div", { className: "stage" });
    this.tokens = make("ol", { className: "tokens", id: id("tokens"), "aria-label": `Tokens, ${title}` });
    this.ids = make("textarea", { className: "ids", id: id("ids"), readOnly: true, rows: 3, spellcheck: false });
    this.element = make(
      "section",
      { className: `panel ${this.kind}`, id: this.prefix, "aria-labelledby": id("title") },
      make("h2", { id: id("title") }, title),
      make("p", {}, make("label", { htmlFor: id("table") }, "Table "), this.select),
      this.figures,
      bar,
      this.slider,
      this.status,
      this.stage,
      make("h3", {}, "Tokens"),
      this.tokens,
      make("h3", {}, make("label", { htmlFor: id("ids") }, this.kind === "standard" ? "Ids" : "Rows (variation, prefix, core, suffix)")),
      this.ids,
    );
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target === this.ids || event.target === this.slider || event.target === this.select) return;
    const moves = {
      ArrowRight: () => this.go(this.step + 1),
      ArrowLeft: () => this.go(this.step - 1),
      Home: () => this.go(0),
      End: () => this.go(this.nSteps),
      PageDown: () => this.goToPiece(1),
      PageUp: () => this.goToPiece(-1),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  }

  encode(text) {
    this.stop();
    this.text = text;
    this.element.dataset.state = "working";
    try {
      this.segments = this.engine.encode(text);
      this.error = "";
    } catch (error) {
      this.segments = [];
      this.error = `cannot encode this text: ${error.message}`;
    }
    this.starts = [0];
    for (const segment of this.segments) this.starts.push(this.starts.at(-1) + this.engine.countSteps(segment));
    this.nSteps = this.starts.at(-1);
    this.slider.max = this.nSteps;
    this.showFigures();
    this.makeTokens();
    this.go(0);
    this.element.dataset.state = "ready";
  }

  showFigures() {
    const numbers = this.segments.flatMap((segment) => this.engine.listNumbers(segment));
    this.ids.value = JSON.stringify(numbers);
    const nBytes = new TextEncoder().encode(this.text).length;
    const rows = [
      ["rows spent", this.engine.rows.toLocaleString("en")],
      ["tokens used", numbers.length.toLocaleString("en")],
      ["bytes per token", numbers.length ? (nBytes / numbers.length).toFixed(2) : "\u2013"],
    ];
    this.figures.replaceChildren(...rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  }

  makeTokens() {
    this.chips = [];
    const list = [];
    let n = 0;
    this.segments.forEach((segment, i) => {
      for (const token of n < MAX_SHOWN_TOKENS ? this.engine.listTokens(segment) : []) {
        const chip = make("li", { className: `token color-${n % 4}`, title: `${this.kind === "standard" ? "id" : "row"} ${token.label}` });
        if (token.parts) for (const [part, text] of token.parts) text && chip.append(make("span", { className: part }, text));
        else chip.append(token.text);
        chip.append(make("small", {}, token.label));
        this.chips.push([i, chip]);
        list.push(chip);
        n++;
      }
    });
    const nAll = this.segments.reduce((sum, segment) => sum + this.engine.listNumbers(segment).length, 0);
    if (nAll > n) list.push(make("li", { className: "more" }, `and ${(nAll - n).toLocaleString("en")} more; the list below has all`));
    this.tokens.replaceChildren(...list);
  }

  // The segment that a step is in: its number, and how many of its steps are done.
  locate(step) {
    let [low, high] = [0, this.segments.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= step) low = middle;
      else high = middle;
    }
    return [low, step - this.starts[low]];
  }

  go(step) {
    this.step = Math.max(0, Math.min(step, this.nSteps));
    const isEnd = this.step === this.nSteps;
    const [number, done] = this.locate(this.step);
    this.slider.value = this.step;
    // Not `disabled`: the button that has the focus would lose it, and the keys with it.
    for (const name of ["first", "back"]) this.buttons[name].setAttribute("aria-disabled", this.step === 0);
    for (const name of ["next", "last", "piece"]) this.buttons[name].setAttribute("aria-disabled", isEnd);
    if (isEnd) this.stop();
    for (const [i, chip] of this.chips) chip.classList.toggle("ahead", !isEnd && i >= number);
    if (this.error) this.show(this.error);
    else if (!this.segments.length) this.show("There is no text to encode.");
    else if (isEnd) this.show("Done: every piece has its tokens.");
    else {
      const place = `Step ${this.step + 1} of ${this.nSteps}. `;
      const [words, ...elements] = this.kind === "standard" ? this.tellPiece(number, done) : this.tellUnit(number, done);
      this.show(place + words, ...elements);
    }
    this.slider.setAttribute("aria-valuetext", this.status.textContent);
  }

  show(words, ...elements) {
    this.status.textContent = words;
    this.stage.replaceChildren(...elements);
  }

  goToPiece(direction) {
    if (this.step === this.nSteps && direction > 0) return;
    const [number, done] = this.locate(this.step);
    this.go(direction > 0 ? this.starts[number + 1] : this.starts[done ? number : Math.max(0, number - 1)]);
  }

  tellPiece(number, done) {
    const segment = this.segments[number];
    const name = `Piece ${number + 1} of ${this.segments.length}, ${showText(cut(segment.text))}`;
    if (segment.kind === "added") return [`${name}: an added token, id ${segment.ids[0]}; it is not merged.`, this.drawSymbols(segment.ids, [], -1)];
    const symbols = [...segment.symbols];
    for (const { at, result } of segment.merges.slice(0, done)) symbols.splice(at, 2, result);
    const merge = segment.merges[done];
    const stage = this.drawSymbols(symbols, this.listRanks(symbols), merge ? merge.at : -1);
    if (segment.isWhole) return [`${name}: the piece is a token as it stands, id ${segment.ids[0]}.`, stage];
    if (!merge) return [`${name}: no two neighbours can be merged; the ids are ${segment.ids.slice(0, 20).join(", ")}${segment.ids.length > 20 ? ", \u2026" : ""}.`, stage];
    const spell = (id) => showToken(this.engine.tokens[id]);
    return [`${name}: the pair with the lowest rank is ${spell(merge.left)} + ${spell(merge.right)}, rank ${merge.rank}; it becomes ${spell(merge.result)}, id ${merge.result}.`, stage];
  }

  listRanks(symbols) {
    return symbols.slice(1, MAX_SHOWN_SYMBOLS).map((right, i) => this.engine.findMerge(symbols[i], right)?.rank);
  }

  drawSymbols(symbols, ranks, at) {
    const list = make("ol", { className: "symbols", "aria-label": "Symbols of the piece" });
    symbols.slice(0, MAX_SHOWN_SYMBOLS).forEach((id, i) => {
      const isPair = at >= 0 && (i === at || i === at + 1);
      list.append(make("li", { className: isPair ? "symbol pair" : "symbol" }, make("b", {}, showToken(this.engine.tokens[id])), make("small", {}, `id ${id}`)));
      if (i < ranks.length) list.append(make("li", { className: i === at ? "rank lowest" : "rank", "aria-label": ranks[i] === undefined ? "no merge" : `rank ${ranks[i]}` }, ranks[i] === undefined ? "\u2013" : String(ranks[i])));
    });
    if (symbols.length > MAX_SHOWN_SYMBOLS) list.append(make("li", { className: "more" }, `and ${symbols.length - MAX_SHOWN_SYMBOLS} more`));
    return list;
  }

  tellUnit(number, done) {
    const unit = this.segments[number];
    const name = `Unit ${number + 1} of ${this.segments.length}, ${showText(cut(unit.text))}`;
    if (unit.kind === "added") return [`${name}: a special token, a row of its own.`];
    if (!unit.word) return [`${name}: no word follows, so the characters become bare cores.`];
    if (done === 0) {
      const [prefix, suffix] = [unit.prefix, unit.suffix].map((text) => (text ? showText(text) : "none"));
      return [`${name}: the word is ${showText(cut(unit.word))}; the prefix is ${prefix}, the suffix is ${suffix}.`, this.drawParts([["prefix", unit.before], ["core", unit.word], ["suffix", unit.behind]])];
    }
    let left = done - 1;
    for (const word of unit.words) {
      if (left < word.merges.length) {
        const { rank, before, after } = word.merges[left];
        const folded = word.folded === word.word ? "" : ` ${showText(cut(word.word))} is stored as ${showText(cut(word.folded))}.`;
        return [`${name}:${folded} The pair with the lowest rank, ${rank}, is merged.`, this.drawParts(before.map((text) => ["core", text])), this.drawParts(after.map((text) => ["core", text]))];
      }
      left -= word.merges.length;
    }
    const rows = this.engine.listTokens(unit);
    return [`${name}: the rows are ${rows.map(({ label }) => label).slice(0, 20).join(", ")}.`, ...rows.slice(0, 20).map(({ parts }) => this.drawParts(parts))];
  }

  drawParts(parts) {
    const list = make("ol", { className: "symbols", "aria-label": "Parts of the unit" });
    for (const [kind, text] of parts.slice(0, MAX_SHOWN_SYMBOLS))
      if (text) list.append(make("li", { className: `symbol ${kind}` }, make("b", {}, kind === "variation" ? text : showText(text)), make("small", {}, kind)));
    return list;
  }

  togglePlay() {
    if (this.timer) return this.stop();
    if (this.step === this.nSteps) this.go(0);
    this.buttons.play.textContent = "Pause";
    this.timer = setInterval(() => this.go(this.step + 1), PLAY_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.buttons.play.textContent = "Play";
  }
}

function cut(text) {
  const characters = Array.from(text);
  return characters.length > 40 ? `${characters.slice(0, 40).join("")}\u2026` : text;
}

async function begin() {
  const place = document.getElementById("stepper");
  const input = document.getElementById("text");
  const models = [];
  for (const element of document.querySelectorAll("script[data-model]")) models.push(await unpack(element.textContent));
  const engines = models.map(makeEngine);
  const panels = ["standard", "combinatorial"]
    .map((kind) => [kind, engines.filter(({ data }) => data.kind === kind)])
    .filter(([, group]) => group.length)
    .map(([kind, group], i) => new Panel(kind, group, i + 1));
  place.replaceChildren(...panels.map(({ element }) => element));
  const crlf = document.getElementById("crlf");
  // A text field holds line feeds only, whatever is typed or pasted.
  const read = () => (crlf.checked ? input.value.replaceAll("\n", "\r\n") : input.value);
  const encode = () => panels.forEach((panel) => panel.encode(read()));
  let timer;
  crlf.addEventListener("change", encode);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    panels.forEach(({ element }) => (element.dataset.state = "working"));
    timer = setTimeout(encode, input.value.length > 2000 ? 300 : 0);
  });
  encode();
  place.dataset.state = "ready";
}

begin().catch((error) => {
  document.getElementById("stepper").textContent = `This page needs a current browser: ${error.message}`;
  throw error;
});
