package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
)

func newConvertCommand(e env) *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:     "convert SOURCE",
		GroupID: "playbooks",
		Short:   "Convert a playbook, role or template file of Ansible",
		Long: `Convert translates files of Ansible. SOURCE is a file, or a directory with a role or
with playbooks and roles, which is copied to another directory. Convert translates
names of modules and keywords, conditions, loops and Jinja expressions, and renames
template files NAME.j2 to NAME.tmpl. Comments and all other text stay unchanged.
It lists on standard error, with file, line and column, the parts that it cannot
translate, and with "differs:" translations that do not do the same as Ansible, such
as names of facts inside of texts. ` + "`deployer run PLAYBOOK --list`" + ` lists errors that convert
does not know. Symbolic links become copies of what they name. See the guide "From
Ansible to deployer". No host is contacted.`,
		Example: `  deployer convert roles/nginx -o new/roles/nginx
  deployer convert site.conf.j2 > site.conf.tmpl`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			if err != nil {
				return usageError(err)
			}
			c := newConversion(e.stderr)
			if info.IsDir() {
				if into == "" {
					return usageError(errors.New("the source is a directory: name the new directory with -o"))
				}
				return c.tree(args[0], into)
			}
			text, err := c.single(args[0])
			if err != nil {
				return err
			}
			return writeNew(e.stdout, into, text)
		},
	}
	cmd.Flags().StringVarP(&into, "output", "o", "", "file or directory to write, which must not exist yet (default for a file: standard output)")
	return cmd
}
