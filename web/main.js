// The page: puts its parts together.
import { byId, make } from "./dom.js";
import { Editor, problemIn } from "./editor.js";
import { Engine } from "./engine.js";
import { exampleOf, fromFragment, toFragment } from "./share.js";
import { loadExample, loadGallery } from "./gallery.js";
import { number } from "./format.js";
import { Race } from "./race.js";
import { Run } from "./run.js";

const editor = new Editor(byId("editor"));
const engine = new Engine();
const race = new Race();
let gallery = [];

function say(text) {
  byId("status").textContent = text;
}

function showRunning(isRunning) {
  byId("run").disabled = isRunning;
  byId("stop").disabled = !isRunning;
  document.documentElement.dataset.state = isRunning ? "running" : "idle";
}

function showProblem(problem) {
  editor.mark(problem);
  byId("problem").textContent = problem ? `Line ${problem.line}: ${problem.text}` : "";
}

function showFiles(files) {
  byId("files").replaceChildren(...files.map(({ name, bytes }) => make("a", {
    download: name, href: URL.createObjectURL(new Blob([bytes])),
  }, `Save ${name}`)));
}

async function run() {
  const started = performance.now();
  const output = byId("output");
  output.textContent = "";
  showProblem(null);
  showFiles([]);
  showRunning(true);
  say("Running ...");
  try {
    const done = await engine.run(editor.text, (text) => { output.append(text); });
    if (done === null) {
      say("Stopped.");
      return;
    }
    const ran_ms = performance.now() - started;
    if (done.status !== 0) showProblem(problemIn(output.textContent));
    showFiles(done.files);
    const isKept = done.runs.length === 0 && done.status !== 0 && !byId("race").hidden;
    if (!isKept) race.runs = done.runs.map((json) => new Run(json));
    say(`${done.status === 0 ? "Done" : "Failed"} after ${number(ran_ms)} ms, `
      + (isKept ? "the last race is still shown."
        : `${done.runs.length === 1 ? "one run" : done.runs.length + " runs"} to look at.`));
  } catch (problem) {
    say(`The program ended: ${problem.message}`);
  } finally {
    showRunning(false);
  }
}

function put(source, about) {
  editor.text = source;
  byId("about").textContent = about;
  showProblem(null);
}

async function showExample(name) {
  const known = gallery.find((one) => one.name === name) ?? gallery[0];
  byId("gallery").value = known.name;
  put(await loadExample(known.name), known.about);
}

// What the address asks for. A script that came by a link waits for the button.
async function showAddress() {
  const shared = await fromFragment(location.hash);
  if (shared !== null) {
    byId("gallery").value = "";
    put(shared, "A script that somebody shared. It can do nothing outside of this page.");
    return;
  }
  await showExample(exampleOf(location.hash));
  await run();
}

async function share() {
  history.replaceState(null, "", await toFragment(editor.text));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is in the clipboard; the script is in it.");
  } catch {
    say("The link is in the address bar; the script is in it.");
  }
}

// "?embed" leaves out the frame of the page, for pages that show the playground in their own.
if (new URLSearchParams(location.search).has("embed")) {
  document.documentElement.classList.add("embedded");
}

byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => engine.stop());
byId("share").addEventListener("click", share);
byId("gallery").addEventListener("change", () => {
  location.hash = "example=" + byId("gallery").value;
});
window.addEventListener("hashchange", showAddress);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !engine.isBusy) {
    event.preventDefault();
    run();
  }
});

gallery = await loadGallery();
byId("gallery").replaceChildren(...gallery.map((one) => new Option(one.title, one.name)));
showRunning(false);
await showAddress();
