package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"deployer/ansible/importer"
	"deployer/ansible/jinja"
	"deployer/inventory"
	"deployer/shortlist"
	"deployer/terraform"
)

func newInventoryImport(e env) *cobra.Command {
	var file string
	var fromTerraform bool
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Convert an inventory of Ansible or Kubespray, or the output of Terraform",
		Long: `Import converts an inventory of Ansible: a file in INI or YAML form, a directory of
such files, or the JSON output of ` + "`ansible-inventory --list`" + `, with the group_vars
and host_vars beside it. It converts groups, hosts, variables and connection
settings, so that each host has the values that Ansible gives it; from an inventory of
Kubespray also the roles and the cluster settings that have an equivalent. It lists all
other settings and values, and those of ansible.cfg, with their position, on standard
error and at the end of the file. No host is contacted.

With --terraform, SOURCE is what ` + "`terraform output -json`" + ` prints, or - for standard input,
of a configuration with the outputs of KubeOne: control plane and static workers
become hosts with their addresses and SSH settings.`,
		Example: `  deployer inventory import hosts.ini -f inventory.yaml
  deployer inventory import kubespray/inventory/mycluster -f inventory.yaml
  terraform output -json | deployer inventory import --terraform - -f inventory.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if fromTerraform {
				return importTerraform(e, args[0], file)
			}
			source, err := importer.Read(args[0])
			if err != nil {
				return usageError(err)
			}
			source.Translate = translateJinja
			result, err := source.Convert()
			if err != nil {
				return err
			}
			if err := writeNew(e.stdout, file, result.Text); err != nil {
				return err
			}
			return printImport(e.stderr, file, source, result)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file to write, which must not exist yet (default: standard output)")
	cmd.Flags().BoolVar(&fromTerraform, "terraform", false, "SOURCE is the JSON output of Terraform")
	return cmd
}

// maxTerraformOutput is the maximum size of the output of Terraform in bytes; that of 1000 hosts has about 100 kB.
const maxTerraformOutput = 64 << 20

// importTerraform converts the output of Terraform.
func importTerraform(e env, source, file string) error {
	in, name := e.stdin, "standard input"
	if source != "-" {
		f, err := os.Open(source)
		if err != nil {
			return usageError(err)
		}
		defer func() { _ = f.Close() }()
		in, name = f, source
	}
	text, err := io.ReadAll(io.LimitReader(in, maxTerraformOutput))
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	result, err := terraform.Convert(name, text)
	if err != nil {
		return usageError(err)
	}
	if err := writeNew(e.stdout, file, result.Text); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "the output of Terraform: %s\n", shortlist.Count(result.Hosts, "host"))
	printNotes(e.stderr, file, result.Notes, result.Text)
	return nil
}

// translateJinja translates a Jinja text to deployer's expressions.
func translateJinja(text string) (string, error) {
	out, problems := jinja.PlaybookText(text)
	if len(problems) > 0 {
		return "", problems[0].Err
	}
	return out, nil
}

// writeNew writes to a new file, or to w without a file name. The file has mode 0600,
// as it may contain secrets.
func writeNew(w io.Writer, file string, text []byte) error {
	if file == "" {
		_, err := w.Write(text)
		return err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return usageError(fmt.Errorf("%s exists already: remove it, or name another file", file))
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}

// varDirs returns the directories of variables beside an inventory.
func varDirs(dir string) []string {
	var out []string
	for _, name := range []string{"group_vars", "host_vars"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}

func printImport(w io.Writer, file string, source *importer.Source, result *importer.Result) error {
	kind := "Ansible"
	if result.Kubespray {
		kind = "Kubespray"
	}
	fmt.Fprintf(w, "an inventory of %s: %s, %s\n", kind, shortlist.Count(len(source.Hosts), "host"), shortlist.Count(len(source.Groups), "group"))
	var notes []string
	for _, n := range result.Notes {
		notes = append(notes, n.String())
	}
	printNotes(w, file, notes, result.Text)
	return nil
}

// printNotes prints what a person has to look at in an inventory that was made of something else.
func printNotes(w io.Writer, file string, notes []string, text []byte) {
	if len(notes) > 0 {
		fmt.Fprintf(w, "not converted, or not literally (%d, also at the end of the file):\n", len(notes))
	}
	for _, n := range notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
	if file == "" {
		file = "inventory.yaml"
	} else if old := varDirs(filepath.Dir(file)); len(old) > 0 {
		fmt.Fprintf(w, "%[2]s would read %[1]s too, over its own variables and by other rules (yes is a text): move %[1]s away, or %[2]s to another directory\n",
			strings.Join(old, " and "), file)
	}
	if _, err := inventory.Parse(file, text); err != nil {
		fmt.Fprintf(w, "fix these errors by hand before deployer can read the file:\n%v\n", err)
	}
}
