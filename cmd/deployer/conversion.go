package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"deployer/ansible"
	"deployer/ansible/convert"
	"deployer/engine/lang"
	"deployer/shortlist"
)

// conversion is one call of deployer convert.
type conversion struct {
	messages   io.Writer
	translator *convert.Translator
	knowledge  *convert.Knowledge
}

func newConversion(messages io.Writer) *conversion {
	k := convert.NewKnowledge()
	return &conversion{messages: messages, knowledge: k,
		translator: &convert.Translator{Modules: kinds().Names(), Renamed: ansible.ModuleNames(), Expressions: k.Expressions(lang.NeedsDot)}}
}

// single converts one file, and returns its translation.
func (c *conversion) single(file string) ([]byte, error) {
	abs, err := filepath.Abs(file) // the kind of a file follows from its directories
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError(err)
	}
	dir := filepath.ToSlash(filepath.Dir(abs))
	name := path.Join(convertible(path.Base(path.Dir(dir))), convertible(path.Base(dir)), filepath.Base(abs))
	c.knowledge.Learn(name, data)
	_, text := c.file(file, name, data)
	c.reportUnsure()
	return text, nil
}

// convertible returns the name of a directory of a source that the user names, whose files
// are to be converted even when it is called as those that stay unchanged.
func convertible(dir string) string {
	if dir == "files" || dir == "molecule" || strings.HasPrefix(dir, ".") {
		return "source"
	}
	return dir
}

// tree copies a directory and translates its files.
func (c *conversion) tree(from, into string) error {
	if _, err := os.Lstat(into); err == nil {
		return usageError(fmt.Errorf("%s exists already: remove it, or name another directory", into))
	}
	abs, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	without, err := filepath.Abs(into)
	if err != nil {
		return err
	}
	files, err := listSources(c.messages, from, without)
	if err != nil {
		return err
	}
	kindName := func(f sourceFile) string { return path.Join(convertible(filepath.Base(abs)), f.name) }
	for _, f := range files {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		c.knowledge.Learn(kindName(f), data)
	}
	translated := 0
	for _, f := range files {
		if convert.Translates(kindName(f)) {
			translated++
		}
		if err := c.copy(f, kindName(f), into); err != nil {
			return err
		}
	}
	if translated == 0 {
		return errors.Join(usageError(fmt.Errorf("%s has no playbook, tasks, variables or template files: nothing was converted", from)), os.RemoveAll(into))
	}
	c.reportUnsure()
	fmt.Fprintf(c.messages, "%s in %s, of which %d are of kinds that convert translates. Review them, then run: deployer run PLAYBOOK -i INVENTORY --list\n", shortlist.Count(len(files), "file"), into, translated)
	return nil
}

// copy writes the translation of a file below a directory. A file that cannot be parsed is
// copied unchanged.
func (c *conversion) copy(f sourceFile, kindName, into string) error {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	name, text := c.file(f.path, kindName, data)
	target := filepath.Join(into, filepath.Dir(f.name), path.Base(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, text, f.mode.Perm())
}

// file translates a file and prints the parts that it could not translate.
func (c *conversion) file(shown, kindName string, data []byte) (name string, text []byte) {
	name, text, notes, err := c.translator.File(kindName, data)
	if err != nil {
		fmt.Fprintf(c.messages, "%s: copied unchanged: %v\n", shown, err)
		return kindName, data
	}
	for _, n := range notes {
		fmt.Fprintf(c.messages, "%s:%s\n", shown, n)
	}
	return name, text
}

// reportUnsure lists the variables in texts whose values convert does not see.
func (c *conversion) reportUnsure() {
	if names := c.knowledge.Unsure(); len(names) > 0 {
		fmt.Fprintf(c.messages, "differs: texts contain variables for which these files have no value: %s. A boolean is printed as true, where Ansible prints True; a list or mapping as JSON.\n", strings.Join(names, ", "))
	}
}
