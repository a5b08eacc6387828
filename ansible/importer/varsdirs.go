package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// varsExtensions are the extensions of files of variables, in the order in which Ansible
// looks for them.
var varsExtensions = []string{"", ".yml", ".yaml", ".json"}

// readVarsDirs reads group_vars and host_vars beside the inventory.
func (s *Source) readVarsDirs(dir string) error {
	if err := s.readVarsDir(dir, "group_vars", append([]string{"all", "ungrouped"}, s.Groups...), s.groupFiles); err != nil {
		return err
	}
	return s.readVarsDir(dir, "host_vars", s.Hosts, s.hostFiles)
}

// readVarsDir reads the variables of names in the directory kind.
func (s *Source) readVarsDir(dir, kind string, names []string, into map[string]vars) error {
	used := map[string]bool{} // by entry of the directory
	for _, name := range names {
		entry := varsEntry(filepath.Join(dir, kind), name)
		if entry == "" {
			continue
		}
		used[entry] = true
		into[name] = vars{}
		if err := s.readVars(dir, filepath.Join(kind, entry), into[name]); err != nil {
			return err
		}
	}
	s.noteUnread(dir, kind, names, used)
	return nil
}

// varsEntry returns the file or directory with the variables of a name: the first that
// exists of NAME, NAME.yml, NAME.yaml, NAME.json; empty when there is none.
func varsEntry(root, name string) string {
	if strings.HasPrefix(name, "/") {
		return ""
	}
	for _, ext := range varsExtensions {
		if _, err := os.Stat(filepath.Join(root, name+ext)); err == nil {
			return name + ext
		}
	}
	return ""
}

// noteUnread notes the files that look like variables and that Ansible does not read.
func (s *Source) noteUnread(dir, kind string, names []string, used map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(dir, kind))
	if err != nil {
		return // absent, or a file
	}
	for _, e := range entries {
		if used[e.Name()] || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		for _, ext := range slices.Backward(varsExtensions) {
			name, ok := strings.CutSuffix(e.Name(), ext)
			if !ok || ext == "" && !e.IsDir() && filepath.Ext(name) != "" {
				continue
			}
			why := fmt.Sprintf("the inventory has no %s %q", strings.TrimSuffix(kind, "_vars"), name)
			if slices.Contains(names, name) {
				why = "is not read, in Ansible either: " + filepath.Join(kind, varsEntry(filepath.Join(dir, kind), name)) + " is there, too, and comes first"
			}
			s.note(filepath.Join(kind, e.Name()), "the whole file", why)
			break
		}
	}
}

// readVars reads a file, or the files of a directory and of those in it, by name.
func (s *Source) readVars(dir, shown string, into vars) error {
	path := filepath.Join(dir, shown)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading variables: %w", err)
	}
	if !info.IsDir() {
		return s.varsFile(path, shown, into)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("reading variables: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "~") {
			continue
		}
		ext := filepath.Ext(e.Name())
		below := filepath.Join(shown, e.Name())
		info, err := os.Stat(filepath.Join(dir, below))
		if err != nil || info.IsDir() && ext != "" || !slices.Contains(varsExtensions, ext) {
			continue // a broken link, or not of variables
		}
		if err := s.readVars(dir, below, into); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) varsFile(path, shown string, into vars) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading variables: %w", err)
	}
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")) {
		s.note(shown, "the whole file", "encrypted with ansible-vault: decrypt a copy and use `deployer secrets encrypt`")
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	f := yamlFile{name: shown, json: json.Valid(data)}
	return s.yamlVars(f, root.Content[0], func(name string, v value) { into[name] = v })
}
