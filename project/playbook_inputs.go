package project

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// PlaybookInputs says on which hosts and on which files the work of a playbook depends, as
// far as that is known without the network.
type PlaybookInputs struct {
	Hosts []string // hosts that its plays name, in inventory order
	// Files are the hex SHA-256 of files by absolute path: the files that were read to compile
	// the playbook, with those of the inventory and the variables beside the playbook; what is
	// in templates/ and files/ of the playbook and its roles; and the files beside the playbook
	// whose names occur in a file that was read.
	Files map[string]string
	// Unchecked are the places that were not checked, because they depend on a lookup, each as
	// "file:line:column: what".
	Unchecked []string
	// Prompts are the names of variables without a default that a run would ask the user for.
	Prompts []string
}

// ReadPlaybookInputs compiles a user playbook for all hosts of an inventory and returns its
// inputs. Lookups are not evaluated. Errors in the files are *UserError.
func ReadPlaybookInputs(inventory, playbook string, o Options) (*PlaybookInputs, error) {
	o.Playbook, o.Lookups = filepath.Dir(playbook), lang.UnknownLookups()
	p, err := Load(inventory, o)
	if err != nil {
		return nil, err
	}
	b, err := p.OpenPlaybook(playbook)
	if err != nil {
		return nil, err
	}
	variables, err := p.Variables()
	if err != nil {
		return nil, err
	}
	variables.ResolveHostVars(nil)
	compiled, _, err := p.Compile(b, Selection{Hosts: p.Hosts, Vars: variables.ForHost})
	if err != nil {
		return nil, err
	}
	out := &PlaybookInputs{Files: p.Digests()}
	for _, prompt := range compiled.Prompts {
		if prompt.Default == "" {
			out.Prompts = append(out.Prompts, prompt.Name)
		}
	}
	for _, note := range compiled.Unchecked {
		out.Unchecked = append(out.Unchecked, note.Error())
	}
	named := map[string]bool{}
	for _, play := range compiled.Plays {
		hosts, _ := p.Match(play.Hosts) // Compile has checked the pattern
		for _, host := range hosts {
			named[host] = true
		}
	}
	out.Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(host string) bool { return !named[host] })
	return out, out.addSearched(compiled, p.recorder.files)
}

// addSearched adds the files that tasks may read while they run.
func (in *PlaybookInputs) addSearched(compiled *program.Program, files sourceFiles) error {
	read := slices.Collect(maps.Keys(in.Files))
	done := map[string]bool{}
	for _, task := range slices.Concat(compiled.Tasks, handlersOf(compiled)) {
		for _, s := range task.Files.SearchDirs() {
			dir := filepath.Join(s.Tree.Dir, filepath.FromSlash(s.Dir))
			if s.Tree.Dir == "" || done[dir] {
				continue // embedded, or seen
			}
			done[dir] = true
			keep := func(string) bool { return true }
			if s.Templates && s.Files { // the directory of a playbook, which has files of any kind
				keep = mentionedIn(read, files)
			}
			if err := in.addDir(dir, files, keep); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDir adds the files below a directory whose names are kept. A directory that does not
// exist has none.
func (in *PlaybookInputs) addDir(dir string, files sourceFiles, keep func(name string) bool) error {
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || !keep(d.Name()):
			return nil
		}
		sum, err := files.digest(file)
		if err == nil {
			in.Files[Absolute(file)] = sum
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mentionedIn returns a filter for names of files that occur in one of the given files.
func mentionedIn(read []string, files sourceFiles) func(name string) bool {
	var texts []string
	for _, file := range read {
		if data, err := files.readFile(file); err == nil {
			texts = append(texts, string(data))
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, name) })
	}
}

func handlersOf(p *program.Program) (out []*program.Task) {
	for _, play := range p.Plays {
		out = append(out, play.Handlers...)
	}
	return out
}
