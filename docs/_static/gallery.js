// pictures of the gallery play below the pointer, where there is a film of them
document.addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("section#gallery")) return;
  const root = document.documentElement.dataset.content_root || "./";
  for (const image of document.querySelectorAll("section#gallery td img")) {
    const still = image.src, name = still.split("/").pop().replace(/\.png$/, "");
    const film = new Image();
    const on = () => { film.src = `${root}_static/motions/${name}.webp`; };
    film.onload = () => { if (image.matches(":hover")) image.src = film.src; };
    image.addEventListener("pointerenter", () => (film.src ? (image.src = film.naturalWidth ? film.src : still) : on()));
    image.addEventListener("pointerleave", () => (image.src = still));
  }
});
