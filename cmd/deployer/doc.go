package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/ansible"
	"deployer/engine"
	"deployer/internal/docgen"
	"deployer/strictyaml"
	"deployer/tasks"
	"deployer/tasks/control"
)

func newDocCommand(e env) *cobra.Command {
	var withInternal bool
	cmd := &cobra.Command{
		Use:     "doc [module] [NAME]",
		GroupID: "playbooks",
		Short:   "Show the modules for playbooks and their arguments",
		Long: `Doc lists the modules that tasks of a playbook may use. With the name of a module
it shows its purpose, where it runs, its arguments and an example. --all includes
modules that only the built-in roles use.`,
		Example: "  deployer doc\n  deployer doc module file",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 && args[0] != "module" {
				return usageError(fmt.Errorf("unknown kind of documentation %q; use: deployer doc module %s", args[0], args[1]))
			}
			if len(args) > 0 && args[0] == "module" {
				args = args[1:]
			}
			all := kinds()
			if len(args) == 0 {
				return listKinds(e.stdout, all, withInternal)
			}
			kind, ok := all[args[0]]
			if !ok {
				return usageError(unknownKind(args[0], all))
			}
			return showKind(e.stdout, kind)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return kinds().Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&withInternal, "all", false, "include modules that only the built-in roles use")
	return cmd
}

func unknownKind(name string, all engine.Registry) error {
	hint := "`deployer doc --all` lists the modules"
	if ours := ansible.ModuleNames()[strings.TrimPrefix(name, "ansible.builtin.")]; ours != "" {
		hint = "deployer calls it " + ours
	} else if s := strictyaml.Suggest(name, all.Names()); s != "" {
		hint = fmt.Sprintf("did you mean %q?", s)
	}
	return fmt.Errorf("there is no module %q; %s", name, hint)
}

func listKinds(w io.Writer, all engine.Registry, withInternal bool) error {
	for _, name := range all.Names() {
		if all[name].Internal && !withInternal {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-20s %s\n", name, all[name].Doc); err != nil {
			return err
		}
	}
	return nil
}

// showKind prints the documentation of a module as plain text.
func showKind(w io.Writer, k engine.Kind) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s Runs %s.\n\nArguments:\n", k.Name, docgen.Sentence(k.Doc), docgen.WhereItRuns(k))
	keys := strictyaml.Describe(k.New())
	if len(keys) == 0 {
		b.WriteString("  none\n")
	}
	for _, key := range keys {
		fmt.Fprintf(&b, "  %s%s (%s)\n", strings.Repeat("  ", key.Depth), key.Path, strings.TrimSuffix(docgen.KeyType(key)+", "+docgen.RequiredWord(key), ", "))
		fmt.Fprintf(&b, "  %s    %s\n", strings.Repeat("  ", key.Depth), docgen.Sentence(key.Doc))
	}
	fmt.Fprintf(&b, "\nTime limit:\n  %s\n", docgen.TimeLimit(k))
	fmt.Fprintf(&b, "\nExample:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(k.Example), "\n", "\n  "))
	_, err := io.WriteString(w, b.String())
	return err
}

// kinds returns the registry of all kinds of task.
func kinds() engine.Registry {
	return engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
}
