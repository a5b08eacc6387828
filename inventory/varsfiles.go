package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// The directories of variables beside an inventory and beside a playbook, as Ansible has
// them: group_vars/NAME.yaml for a group, a role or all, host_vars/NAME.yaml for a host;
// or a directory NAME with any number of such files. A file that ends in .age is
// decrypted, and all its texts are secrets.
const (
	groupVars = "group_vars"
	hostVars  = "host_vars"
)

// encrypted is the suffix of the files that Options.Open decrypts.
const encrypted = ".age"

// varsFiles are the variables in the files of one place, by group or host.
type varsFiles struct {
	groups, hosts map[string][]layer
	secrets       []string
	errs          []error
	unread        []unreadFile
	// wanted selects the names to read; nil reads all, so that a file for an unknown name is
	// reported.
	wanted func(dir, name string) bool
}

func (f *varsFiles) read(dir, shown string, o Options) *varsFiles {
	f.groups, f.hosts = map[string][]layer{}, map[string][]layer{}
	f.readDir(filepath.Join(dir, groupVars), filepath.Join(shown, groupVars), f.groups, o)
	f.readDir(filepath.Join(dir, hostVars), filepath.Join(shown, hostVars), f.hosts, o)
	return f
}

func (f *varsFiles) readDir(dir, shown string, into map[string][]layer, o Options) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.errs = append(f.errs, fmt.Errorf("reading variables: %w", err))
		}
		return
	}
	wanted := func(whose string) bool { return f.wanted == nil || f.wanted(filepath.Base(dir), whose) }
	plain := map[string][]string{} // unencrypted entries by name
	for _, e := range entries {
		path, name := filepath.Join(dir, e.Name()), filepath.Join(shown, e.Name())
		info, err := os.Stat(path)
		whose, ok := varsName(e.Name())
		isDir := err == nil && info.IsDir()
		if isDir {
			whose, ok = e.Name(), true
		}
		switch {
		case !ok:
			f.unread = append(f.unread, unreadFile{name, filepath.Base(dir), strings.TrimSuffix(e.Name(), ".json")})
			continue
		case !wanted(whose):
			continue
		case isDir:
			f.readMember(path, name, whose, into, o)
		default:
			f.readFile(path, name, whose, into, o)
		}
		if !strings.HasSuffix(name, encrypted) {
			plain[whose] = append(plain[whose], name)
		}
	}
	f.checkSingle(plain)
}

// readMember reads the directory of one group or host.
func (f *varsFiles) readMember(dir, shown, whose string, into map[string][]layer, o Options) {
	files, err := os.ReadDir(dir)
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("reading variables: %w", err))
	}
	for _, e := range files {
		path, name := filepath.Join(dir, e.Name()), filepath.Join(shown, e.Name())
		if _, ok := varsName(e.Name()); ok {
			f.readFile(path, name, whose, into, o)
		} else if err := checkUnread(path, name, o); err != nil {
			f.errs = append(f.errs, err)
		}
	}
}

// varsName returns the name of a file without its extensions; false for files without
// variables, such as a README.
func varsName(file string) (string, bool) {
	name := strings.TrimSuffix(file, encrypted)
	ext := filepath.Ext(name)
	if ext != ".yaml" && ext != ".yml" || strings.HasPrefix(name, ".") {
		return "", false
	}
	return strings.TrimSuffix(name, ext), true
}

func (f *varsFiles) readFile(path, shown, whose string, into map[string][]layer, o Options) {
	root, err := f.parse(path, shown, o)
	if err != nil {
		f.errs = append(f.errs, err)
		return
	}
	into[whose] = append(into[whose], layer{name: shown, file: shown, vars: root})
}

func (f *varsFiles) parse(path, shown string, o Options) (*yaml.Node, error) {
	data, err := o.read(path)
	if err != nil {
		return nil, fmt.Errorf("reading variables: %w", err)
	}
	sealed := strings.HasSuffix(path, encrypted)
	if sealed {
		if o.Open == nil {
			return nil, fmt.Errorf("%s is encrypted, and there is no key to decrypt it", shown)
		}
		if data, err = o.Open(shown, data); err != nil {
			return nil, err
		}
	}
	root, err := strictyaml.Parse(shown, data)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind == 0 || root.ShortTag() == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, strictyaml.At(shown, root).Errorf("want a mapping of variables to values")
	}
	secrets, err := strictyaml.ResolveTags(shown, root, o.lookupEnv)
	f.secrets = append(f.secrets, secrets...)
	if sealed {
		f.secrets = append(f.secrets, scalars(root)...)
	}
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	return root, strictyaml.Decode(shown, root, &whole)
}

// scalars returns the values below n that are worth masking: texts and numbers, which
// keep their types.
func scalars(n *yaml.Node) []string {
	var out []string
	switch n.Kind {
	case yaml.ScalarNode:
		if tag := n.ShortTag(); tag != "!!null" && tag != "!!bool" && n.Value != "" {
			out = append(out, n.Value)
		}
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			out = append(out, scalars(n.Content[i])...)
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			out = append(out, scalars(c)...)
		}
	}
	return out
}
