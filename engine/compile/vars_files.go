package compile

import (
	"fmt"
	"os"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// encryptedSuffix is the end of the names of files that Compiler.Decrypt decrypts.
const encryptedSuffix = ".age"

// varsFiles returns the variables of the files that a play names.
func (c *compiler) varsFiles(x taskContext, n *yaml.Node, dir string) []*lang.Scope {
	d := x.doc
	var out []*lang.Scope
	for _, e := range c.texts(d, n, "vars_files") {
		if lang.IsTemplate(e.Value) {
			c.fail(d.At(e).Errorf("vars_files: the name of a file must be a constant, because the file is read before any host is known; put variables of hosts into the inventory"))
			c.lostFile()
			continue
		}
		if f := c.varsFile(c.tree, lang.JoinPath(dir, e.Value), d.At(e)).WithFiles(x.files); f != nil {
			out = append(out, c.compileScope(f, f.Root, lang.PlayVars))
		}
	}
	return out
}

// varsFile reads a file of variables; nil when it cannot be used, after recording the
// error. The file may be encrypted, and may contain the tags !env and !secret.
func (c *compiler) varsFile(tree lang.Tree, file string, pos strictyaml.Pos) *lang.Document {
	shown := tree.DisplayPath(file)
	if d, ok := c.docs[shown]; ok {
		return d
	}
	data, err := c.open(tree, file, shown)
	if err != nil {
		c.fail(pos.Errorf("vars_files: %v", err))
		c.lostFile()
		return nil
	}
	d, err := lang.ParseDocument(shown, data)
	if err != nil {
		c.fail(err)
		c.lostFile()
		return nil
	}
	lookup := c.lib.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	secrets, err := strictyaml.ResolveTags(shown, d.Root, lookup)
	c.fail(err)
	if strings.HasSuffix(file, encryptedSuffix) {
		secrets = append(secrets, scalars(d.Root)...)
	}
	c.prog.Secrets = append(c.prog.Secrets, secrets...)
	if c.lib.Learn != nil {
		c.lib.Learn(secrets...)
	}
	c.docs[shown] = d
	return d
}

// open reads a file and decrypts it if it is encrypted.
func (c *compiler) open(tree lang.Tree, file, shown string) ([]byte, error) {
	data, err := c.read(tree, file)
	switch {
	case err != nil || !strings.HasSuffix(file, encryptedSuffix):
		return data, err
	case c.lib.Decrypt == nil:
		return nil, fmt.Errorf("%s is encrypted, and there is no key to decrypt it", shown)
	}
	return c.lib.Decrypt(shown, data)
}

// scalars returns the values below n that are worth hiding.
func scalars(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		if tag := n.ShortTag(); tag == "!!null" || tag == "!!bool" || n.Value == "" {
			return nil
		}
		return []string{n.Value}
	}
	var out []string
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		out = append(out, scalars(child)...)
	}
	return out
}
