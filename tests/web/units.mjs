// node units.mjs: the parts of the page that need no browser. A line "ok NAME" for each test.
import assert from "assert";
import { change } from "../../web/format.js";
import { labelsOf } from "../../web/labels.js";

const tests = {
  "changes have a sign": () => {
    assert.equal(change(100, 112.34), "+12.3 %");
    assert.equal(change(100, 50), "−50.0 %");
    assert.equal(change(100, 100.01), "±0 %");
    assert.equal(change(10, 100), "+900 %");
    for (const [from, to] of [[0, 1], [null, 1], [1, null], [undefined, 2]]) {
      assert.equal(change(from, to), "");
    }
  },
  "runs with the same label are named by their differences": () => {
    const run = (label, settings) => ({ label, settings });
    assert.deepEqual(labelsOf([run("a", { queue: "x", seed: "1" }), run("a", { seed: "1" }),
      run("b", {})]), ["a, queue: x", "a, without queue", "b"]);
    assert.deepEqual(labelsOf([run("a", { seed: "1" }), run("a", { seed: "1" })]), ["a", "a"]);
    const long = labelsOf([run("a", { x: "y".repeat(100) }), run("a", {})])[0];
    assert.ok(long.length < 70 && long.endsWith("…"));
  },
};

for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log("ok " + name);
  } catch (problem) {
    console.log(`not ok ${name}: ${problem.message}`);
  }
}
