// Scripts in the fragment of the address, which browsers do not send to servers.

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

// "#script=..." of a text: deflated, in the base64 of addresses.
export async function toFragment(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let digits = "";
  for (const byte of bytes) digits += String.fromCharCode(byte);
  return "#script=" + btoa(digits).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// The text of a fragment; null when it holds none, or a broken one.
export async function fromFragment(fragment) {
  const found = /^#script=([\w-]+)$/.exec(fragment);
  if (!found) return null;
  try {
    const digits = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(digits, (digit) => digit.charCodeAt(0));
    return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
  } catch {
    return null;
  }
}

// The example that a fragment names, or null.
export function exampleOf(fragment) {
  const found = /^#example=(\w+)$/.exec(fragment);
  return found ? found[1] : null;
}
