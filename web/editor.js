// The editor: a text area, and under it the same text in colours. So typing, undo, searching and
// screen readers are the browser's own.

const indent = "  ";

// "script.lua:12: something is wrong" as { line, text }; null in other words.
export function problemIn(output) {
  const found = /(?:^|\s)script\.lua:(\d+): (.*)/m.exec(output);
  return found ? { line: Number(found[1]), text: found[2] } : null;
}

export class Editor {
  #area;
  #shown;
  #numbers;
  #problem = null;
  #listener = () => {};

  constructor(box) {
    this.#area = box.querySelector("textarea");
    this.#shown = box.querySelector(".shown");
    this.#numbers = box.querySelector(".numbers");
    this.#area.addEventListener("input", () => {
      this.#problem = null;
      this.#draw();
      this.#listener();
    });
    this.#area.addEventListener("scroll", () => this.#follow());
    this.#area.addEventListener("keydown", (event) => this.#key(event));
  }

  get text() {
    return this.#area.value;
  }

  set text(text) {
    this.#area.value = text;
    this.#area.scrollTop = 0;
    this.#problem = null;
    this.#draw();
  }

  onInput(listener) {
    this.#listener = listener;
  }

  // Marks a line with what is wrong in it, and shows it; null takes the mark away.
  mark(problem) {
    this.#problem = problem;
    this.#draw();
    if (problem) {
      const height = parseFloat(getComputedStyle(this.#area).lineHeight);
      const top = (problem.line - 1) * height;
      const area = this.#area;
      if (top < area.scrollTop || top > area.scrollTop + area.clientHeight - 2 * height) {
        area.scrollTop = Math.max(0, top - area.clientHeight / 2);
      }
    }
  }

  #follow() {
    this.#shown.style.transform =
      `translate(${-this.#area.scrollLeft}px, ${-this.#area.scrollTop}px)`;
    this.#numbers.style.transform = `translateY(${-this.#area.scrollTop}px)`;
  }

  // Tab indents, unless Escape went before it: nobody must be caught in here.
  #key(event) {
    if (event.key === "Escape") {
      this.#area.dataset.leaving = "true";
    } else if (event.key === "Tab" && !event.shiftKey && !this.#area.dataset.leaving) {
      event.preventDefault();
      document.execCommand("insertText", false, indent); // keeps the browser's undo
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const before = this.#area.value.slice(0, this.#area.selectionStart);
      document.execCommand("insertText", false, "\n" + /[^\n]*$/.exec(before)[0].match(/^ */)[0]);
    } else if (event.key !== "Shift") {
      delete this.#area.dataset.leaving;
    }
  }

  #draw() {
    const lines = this.#area.value.split("\n");
    this.#shown.innerHTML = Prism.highlight(this.#area.value, Prism.languages.lua, "lua") + "\n";
    this.#numbers.replaceChildren(...lines.map((_, i) => {
      const number = document.createElement("span");
      number.textContent = i + 1 + "\n";
      return number;
    }));
    if (this.#problem) this.#drawProblem();
    this.#follow();
  }

  #drawProblem() {
    const { line, text } = this.#problem;
    const note = document.createElement("span");
    note.className = "wrong";
    // Behind the end of the line, which it marks.
    const length = (this.#area.value.split("\n")[line - 1] ?? "").length;
    note.style.top = `calc(${line - 1} * var(--line-height) + var(--padding))`;
    note.style.paddingLeft = `calc(${length + 2}ch + var(--padding))`;
    note.textContent = text;
    this.#shown.append(note);
    this.#numbers.children[line - 1]?.classList.add("wrong");
  }
}
