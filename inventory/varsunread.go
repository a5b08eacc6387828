package inventory

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The files of variables that Ansible would read and deployer does not, or the other way
// round, are errors: directories of variables often serve both, or come from Ansible.

// unreadFile is a file in group_vars or host_vars that is not read, and the name of the
// group or host that Ansible would read it for.
type unreadFile struct{ shown, dir, whose string }

// checkUnread reports the files without .yaml or .yml that stand for a known name.
func (f *varsFiles) checkUnread(known map[string][]string) {
	for _, u := range f.unread {
		if slices.Contains(known[u.dir], u.whose) {
			f.errs = append(f.errs, unreadError(u.shown))
		}
	}
}

func unreadError(shown string) error {
	return fmt.Errorf("%s would not be read: rename it to %s.yaml", shown, strings.TrimSuffix(shown, ".json"))
}

// checkSingle reports names with several unencrypted files or directories: Ansible reads
// only the first of NAME, NAME.yml and NAME.yaml.
func (f *varsFiles) checkSingle(plain map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if found := plain[name]; len(found) > 1 {
			slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
			f.errs = append(f.errs, fmt.Errorf("%s has its variables in %s, of which Ansible reads %s only: move them all into one directory, %s",
				name, strings.Join(found, " and "), found[0], filepath.Join(filepath.Dir(found[0]), name)))
		}
	}
}

// checkUnread reports an entry of the directory of a group or host that Ansible would read:
// a directory, a file in JSON, and one without an extension that holds a mapping.
func checkUnread(path, shown string, o Options) error {
	ext := filepath.Ext(shown)
	if strings.HasPrefix(filepath.Base(shown), ".") || strings.HasSuffix(shown, "~") || ext != "" && ext != ".json" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // a broken link is no file of variables
	}
	if info.IsDir() {
		return fmt.Errorf("%s would not be read: move its files into %s", shown, filepath.Dir(shown))
	}
	data, err := o.read(path)
	if err != nil {
		return fmt.Errorf("reading variables: %w", err)
	}
	if isMapping(data) { // otherwise it is no file of variables for Ansible either
		return unreadError(shown)
	}
	return nil
}

// isMapping reports whether a text is YAML with a mapping at its top.
func isMapping(data []byte) bool {
	var root yaml.Node
	return yaml.Unmarshal(data, &root) == nil && len(root.Content) > 0 && root.Content[0].Kind == yaml.MappingNode
}
