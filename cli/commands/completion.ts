/** `stepmark completion`: a script that lets a shell complete commands, options, files and ids of runs. */
import { command, listed, UsageError } from "../command.js";
import { commands } from "../commands.js";
import { completionOf, shells } from "../completion.js";

export const completion = command({
  usage: ["completion SHELL"],
  about: `Prints what makes a shell complete the commands, their options, files and folders, and the ids of runs in the default store. It is
for the word \`stepmark\`, so node_modules/.bin has to be in the PATH, or stepmark installed globally. Put the line into the shell's
own file to have it in every shell:

  bash  source <(stepmark completion bash)    in ~/.bashrc
  zsh   source <(stepmark completion zsh)     in ~/.zshrc, after compinit
  fish  stepmark completion fish | source     in ~/.config/fish/config.fish`,
  arguments: { SHELL: "bash, zsh or fish" },
  options: {},
  async run({ positionals }, { print }) {
    const [named, ...more] = positionals;
    const shell = shells.find((each) => each === named);
    if (shell === undefined || more.length > 0) throw new UsageError(`one shell has to be named: ${listed(shells)}`);
    const loaded = await Promise.all(
      commands.map(async ({ name, summary, load }) => ({ name, summary, command: await load() })),
    );
    print(completionOf(shell, loaded));
    return 0;
  },
});
