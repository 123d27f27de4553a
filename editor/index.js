/**
 * The diagnostics in editors: a plugin of TypeScript's language service.
 *
 * `{ "compilerOptions": { "plugins": [{ "transform": "stepmark/transformer", "name": "stepmark/editor" }] } }`
 *
 * TypeScript's server looks plugins up the old way, by folder, and requires them; so this is a folder of its own, and
 * CommonJS. The rest of the package is not: a Node that cannot require that yet imports it, and the diagnostics come later.
 */
"use strict";

module.exports = ({ typescript }) => ({
  create(info) {
    const { languageService, project } = info;
    let diagnosticsOf = () => [];
    const start = ({ editorDiagnostics }) => {
      diagnosticsOf = editorDiagnostics(typescript, info);
    };
    try {
      start(require("../dist/transformer/editor.js"));
    } catch (error) {
      if (error.code !== "ERR_REQUIRE_ESM") throw error;
      import("../dist/transformer/editor.js").then((module) => {
        start(module);
        project.refreshDiagnostics?.();
      });
    }
    const proxy = Object.create(null);
    for (const [name, member] of Object.entries(languageService)) {
      proxy[name] = typeof member === "function" ? member.bind(languageService) : member;
    }
    proxy.getSemanticDiagnostics = (file) => [...languageService.getSemanticDiagnostics(file), ...diagnosticsOf(file)];
    return proxy;
  },
});
