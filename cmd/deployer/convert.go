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
)

func newConvertCommand(e env) *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:     "convert SOURCE",
		GroupID: "playbooks",
		Short:   "Say a playbook, role or template file of Ansible in deployer's words",
		Long: `Convert does the mechanical part of moving from Ansible. SOURCE is a file, or a
directory with a role or playbooks and roles, which is copied to another one: names
of modules and keywords, conditions, loops and texts in Jinja are translated, and
template files NAME.j2 become NAME.tmpl. Comments and all else stay as they are.
What is left to do by hand is listed on standard error with its place; so does
` + "`deployer run PLAYBOOK --list`" + ` for what convert does not know. What is not the same
in deployer, such as facts in small letters inside of texts, is yours to look at:
see the guide "From Ansible to deployer". Nothing is contacted.`,
		Example: `  deployer convert roles/nginx -o new/roles/nginx
  deployer convert site.conf.j2 > site.conf.tmpl`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			translator := &convert.Translator{Modules: kinds().Names(), Renamed: ansible.ModuleNames()}
			info, err := os.Stat(args[0])
			if err != nil {
				return usageError(err)
			}
			if info.IsDir() {
				if into == "" {
					return usageError(errors.New("a directory is copied: say with -o what the new one is called"))
				}
				return convertTree(e.stderr, translator, args[0], into)
			}
			abs, err := filepath.Abs(args[0]) // the directories around say what it is
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

// convertTree copies a directory, its files translated.
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
		case d.IsDir() && (d.Name() == ".git" || filepath.Join(inside, rel) == copied): // the copy may lie in what is copied
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(into, rel), 0o755)
		case !d.Type().IsRegular():
			fmt.Fprintf(w, "%s: no plain file, left out\n", file)
			return nil
		}
		files++
		return copyConverted(w, translator, file, filepath.Join(filepath.ToSlash(inside), rel), filepath.Join(into, filepath.Dir(rel)))
	})
	if err == nil {
		fmt.Fprintf(w, "%s in %s. Now look at them, and go on with: deployer run PLAYBOOK -i INVENTORY --list\n", plural(files, "file"), into)
	}
	return err
}

// copyConverted writes the translation of a file into a directory. A file that
// cannot be read is copied as it is.
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

// convertFile translates a file and lists what is left to do.
func convertFile(w io.Writer, translator *convert.Translator, shown, full string) (name string, text []byte, err error) {
	data, err := os.ReadFile(shown)
	if err != nil {
		return "", nil, usageError(err)
	}
	name, text, notes, err := translator.File(full, data)
	if err != nil {
		fmt.Fprintf(w, "%s: copied as it is: %v\n", shown, err)
		return full, data, nil
	}
	for _, n := range notes {
		fmt.Fprintf(w, "%s:%s\n", shown, n)
	}
	return name, text, nil
}
