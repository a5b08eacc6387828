package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// readVarsDirs reads group_vars and host_vars beside the inventory. Their values win
// over those in the inventory file, as in Ansible.
func (s *Source) readVarsDirs(dir string) error {
	if isKubespray(s) {
		s.wholeCluster()
	}
	for _, kind := range []string{"group_vars", "host_vars"} {
		root := filepath.Join(dir, kind)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return s.varsFile(path, filepath.Join(kind, rel), strings.TrimSuffix(strings.Split(rel, string(filepath.Separator))[0], filepath.Ext(rel)), kind)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *Source) varsFile(path, shown, whose, kind string) error {
	switch filepath.Ext(path) {
	case "", ".yml", ".yaml", ".json":
	default:
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT")) {
		s.notes = append(s.notes, Note{shown, "the whole file", "encrypted with ansible-vault: decrypt a copy and use `deployer secrets encrypt`"})
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	into := s.groupVars[whose]
	if kind == "host_vars" {
		into = s.hostVars[whose]
	}
	if into == nil && whose == "all" {
		s.group("all")
		into = s.groupVars["all"]
	}
	if into == nil {
		s.notes = append(s.notes, Note{shown, "the whole file", fmt.Sprintf("the inventory has no %s %q", strings.TrimSuffix(kind, "_vars"), whose)})
		return nil
	}
	return s.yamlVars(shown, root.Content[0], into)
}
