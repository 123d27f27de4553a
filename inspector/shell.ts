/** The page before its script has run, and what it may do: nothing but ask this server. */

/** Scripts and styles of this server alone; no text is ever taken for markup, also by mistake of the script. */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

export const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>stepmark</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body>
<div id="page"><noscript><p>The inspector needs JavaScript.</p></noscript></div>
</body>
</html>
`;

/** A mark with three notches: the part of a run that is recorded. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3a5bd9"/><path d="M7 10h13M7 16h18M7 22h9" stroke="#fff" stroke-width="3.2" stroke-linecap="round"/></svg>
`;
