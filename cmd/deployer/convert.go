package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/ansible"
	"deployer/ansible/convert"
	"deployer/engine/lang"
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
It lists the parts that it cannot translate on standard error, with file, line and
column; ` + "`deployer run PLAYBOOK --list`" + ` lists errors that convert does not know.
Check differences in meaning, such as names of facts inside texts, by hand: see the
guide "From Ansible to deployer". No host is contacted.`,
		Example: `  deployer convert roles/nginx -o new/roles/nginx
  deployer convert site.conf.j2 > site.conf.tmpl`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			translator := &convert.Translator{Modules: kinds().Names(), Renamed: ansible.ModuleNames(), NeedsDot: lang.NeedsDot}
			info, err := os.Stat(args[0])
			if err != nil {
				return usageError(err)
			}
			if info.IsDir() {
				if into == "" {
					return usageError(errors.New("the source is a directory: name the new directory with -o"))
				}
				return convertTree(e.stderr, translator, args[0], into)
			}
			abs, err := filepath.Abs(args[0]) // the kind of a file follows from its directories
			if err != nil {
				return err
			}
			_, text, err := convertFile(e.stderr, translator, args[0], filepath.ToSlash(abs))
			if err != nil {
				return err
			}
			return writeNew(e.stdout, into, text)
		},
	}
	cmd.Flags().StringVarP(&into, "output", "o", "", "file or directory to write, which must not exist yet (default for a file: standard output)")
	return cmd
}

// convertTree copies a directory and translates its files.
func convertTree(w io.Writer, translator *convert.Translator, from, into string) error {
	if _, err := os.Lstat(into); err == nil {
		return usageError(fmt.Errorf("%s exists already: remove it, or name another directory", into))
	}
	inside, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	copied, err := filepath.Abs(into)
	if err != nil {
		return err
	}
	files := 0
	err = filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || filepath.Join(inside, rel) == copied): // the destination may be inside the source
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(into, rel), 0o755)
		case !d.Type().IsRegular():
			fmt.Fprintf(w, "%s: skipped: not a regular file\n", file)
			return nil
		}
		files++
		return copyConverted(w, translator, file, filepath.Join(filepath.ToSlash(inside), rel), filepath.Join(into, filepath.Dir(rel)))
	})
	if err == nil {
		fmt.Fprintf(w, "%s in %s. Review them, then run: deployer run PLAYBOOK -i INVENTORY --list\n", plural(files, "file"), into)
	}
	return err
}

// copyConverted writes the translation of a file into a directory. A file that cannot
// be parsed is copied unchanged.
func copyConverted(w io.Writer, translator *convert.Translator, file, full, dir string) error {
	name, text, err := convertFile(w, translator, file, full)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, path.Base(name)), text, info.Mode().Perm())
}

// convertFile translates a file and prints the parts that it could not translate.
func convertFile(w io.Writer, translator *convert.Translator, shown, full string) (name string, text []byte, err error) {
	data, err := os.ReadFile(shown)
	if err != nil {
		return "", nil, usageError(err)
	}
	name, text, notes, err := translator.File(full, data)
	if err != nil {
		fmt.Fprintf(w, "%s: copied unchanged: %v\n", shown, err)
		return full, data, nil
	}
	for _, n := range notes {
		fmt.Fprintf(w, "%s:%s\n", shown, n)
	}
	return name, text, nil
}
