// node serve.cjs FOLDER PORT: the files below a folder, for this machine alone.
// Says the address once it listens; port 0 is any that is free.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");

const [folder, port] = process.argv.slice(2);
const root = path.resolve(folder);
const types = {
  ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".lua": "text/plain",
  ".svg": "image/svg+xml", ".tsv": "text/plain", ".wasm": "application/wasm",
};
// The page says the same of itself; this is for its workers.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
  + "connect-src 'self'; worker-src 'self'; img-src 'self'; base-uri 'none'; "
  + "form-action 'none'; frame-ancestors 'none'";

http.createServer((request, response) => {
  const wanted = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
  const file = path.join(root, wanted === "/" ? "index.html" : wanted);
  if (!file.startsWith(root + path.sep) || !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) {
    response.writeHead(404).end("not found\n");
    return;
  }
  response.writeHead(200, {
    "Content-Type": types[path.extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": policy, "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
  });
  fs.createReadStream(file).pipe(response);
}).listen(Number(port), "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}/`);
});
