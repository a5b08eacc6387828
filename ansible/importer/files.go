package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"gopkg.in/yaml.v3"
)

var (
	// ignoredName matches the entries of a directory that Ansible does not read: hidden
	// ones, those of variables, and the extensions of INVENTORY_IGNORE_EXTS.
	ignoredName = regexp.MustCompile(`^\.|^(host_vars|group_vars|vars_plugins)$|(\.(pyc|pyo|swp|bak|rpm|md|txt|rst|orig|ini|cfg|retry)|~)$`)
	// iniName matches those among them that many people take for inventories.
	iniName = regexp.MustCompile(`^[^.].*\.ini$`)
)

// errNotStatic is the error of a file that makes an inventory only when Ansible runs it.
var errNotStatic = errors.New("run `ansible-inventory -i FILE --list > hosts.json` and import hosts.json")

// readDirectory reads the files of a directory and of those in it, by name, as Ansible
// does. A directory that holds nothing but files named *.ini is read too, although
// Ansible ignores them.
func (s *Source) readDirectory(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	read := 0
	var ini, plugins []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if iniName.MatchString(e.Name()) {
			ini = append(ini, e.Name())
		}
		if ignoredName.MatchString(e.Name()) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue // below
		}
		switch err := s.readFile(path, e.Name()); {
		case errors.Is(err, errNotStatic):
			plugins = append(plugins, path)
			s.note(e.Name(), "the whole file", "is not read: "+err.Error())
		case err != nil:
			return err
		default:
			read++
		}
	}
	if read > 0 {
		for _, name := range ini {
			s.note(name, "the whole file", "is not read: Ansible ignores *.ini in a directory; import the file itself if it is an inventory")
		}
		return s.readBelow(dir, entries)
	}
	for _, name := range ini {
		if err := s.readFile(filepath.Join(dir, name), name); err != nil {
			return err
		}
	}
	switch {
	case len(ini) > 0:
		return nil
	case len(plugins) > 0:
		return fmt.Errorf("%s: %w", plugins[0], errNotStatic)
	}
	if err := s.readBelow(dir, entries); err != nil || len(s.Hosts) > 0 {
		return err
	}
	return fmt.Errorf("%s holds no inventory file", dir)
}

// readBelow reads the directories in a directory.
func (s *Source) readBelow(dir string, entries []os.DirEntry) error {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() || ignoredName.MatchString(e.Name()) {
			continue
		}
		below, err := os.ReadDir(path)
		if err != nil {
			return fmt.Errorf("reading the inventory: %w", err)
		}
		for _, b := range below {
			if b.IsDir() || ignoredName.MatchString(b.Name()) {
				continue
			}
			name := filepath.Join(e.Name(), b.Name())
			if err := s.readFile(filepath.Join(dir, name), name); errors.Is(err, errNotStatic) {
				s.note(name, "the whole file", "is not read: "+err.Error())
			} else if err != nil {
				return err
			}
		}
		if err := s.readBelow(path, below); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads one file; name is how messages show it.
func (s *Source) readFile(path, name string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the inventory: %w", err)
	}
	text := bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(text, []byte("#!")):
		return fmt.Errorf("%s is a program: %w", path, errNotStatic)
	case filepath.Ext(name) == ".toml":
		return fmt.Errorf("%s is an inventory in TOML: %w", path, errNotStatic)
	case bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT")):
		return fmt.Errorf("%s is encrypted: run `ansible-vault decrypt` on a copy of it first", path)
	case isListing(text):
		return s.readListing(name, data)
	case isYAML(name, text):
		return s.readYAML(name, data)
	}
	return s.readINI(name, string(data))
}

// isListing reports whether a text is the JSON of `ansible-inventory --list`, where
// hosts are a list. Other JSON is the YAML form.
func isListing(text []byte) bool {
	var groups map[string]struct{ Hosts json.RawMessage }
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &groups) != nil {
		return false
	}
	_, ok := groups["_meta"]
	for _, g := range groups {
		ok = ok || bytes.HasPrefix(g.Hosts, []byte("["))
	}
	return ok
}

// isYAML decides by the extension, and by the content where the extension is another.
func isYAML(name string, text []byte) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	case ".ini":
		return false
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return false
	}
	return !bytes.HasPrefix(text, []byte("["))
}
