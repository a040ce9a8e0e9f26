// The scripts that come with the page: gallery/list.tsv has a line "name, tab, what it is" for each.

export async function loadGallery() {
  const lines = (await (await fetch("gallery/list.tsv")).text()).trim().split("\n");
  return lines.map((line) => {
    const [name, about] = line.split("\t");
    const words = name.replaceAll("_", " ");
    return { name, about, title: words[0].toUpperCase() + words.slice(1) };
  });
}

export async function loadExample(name) {
  const answer = await fetch("gallery/" + name + ".lua");
  if (!answer.ok) throw new Error("there is no example '" + name + "'");
  return answer.text();
}
