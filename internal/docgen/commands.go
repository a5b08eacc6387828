package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the page of all commands and flags below root.
func Commands(root *cobra.Command) string {
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString(generated("Commands", "the commands themselves"))
	b.WriteString("\nSee also: [exit codes](exit-codes.md).\n")
	writeCommand(&b, root)
	return b.String()
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	about := c.Long
	if about == "" {
		about = Sentence(c.Short)
	}
	completion := c.Name() == "completion" && c.HasParent()
	if completion { // cobra's text describes the files of each shell
		about = "Generate the script that completes commands and flags in your shell: bash, zsh, fish or powershell.\n" +
			"`deployer completion SHELL --help` explains its installation."
	}
	fmt.Fprintf(b, "%s\n", fenceTables(strings.TrimSpace(about)))
	if c.Runnable() && !c.HasSubCommands() {
		fmt.Fprintf(b, "\n```\n%s\n```\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExample:\n\n```\n%s\n```\n", strings.TrimSpace(strings.ReplaceAll(c.Example, "\n  ", "\n")))
	}
	writeFlags(b, c.NonInheritedFlags())
	if completion {
		return
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			writeCommand(b, sub)
		}
	}
}

// fenceTables makes code blocks of the paragraphs that are indented, such as tables:
// Markdown would join their lines.
func fenceTables(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		if slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") }) {
			continue
		}
		for j := range lines {
			lines[j] = lines[j][2:]
		}
		paragraphs[i] = "```\n" + strings.Join(lines, "\n") + "\n```"
	}
	return strings.Join(paragraphs, "\n\n")
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| Flag | Default | What it does |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		def := ""
		switch f.DefValue {
		case "", "false", "0", "[]":
		default:
			def = "`" + f.DefValue + "`"
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" && f.Value.Type() != "count" {
			name += " " + kind
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, def, cell(usage))
	})
}
