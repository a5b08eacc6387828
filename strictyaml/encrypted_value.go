package strictyaml

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// encrypted returns an error for files that other programs have encrypted, whose
// texts would otherwise be used as they are. The error has the command that converts
// them.
func encrypted(file string, data []byte, root *yaml.Node) error {
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("$ANSIBLE_VAULT;")):
		return Errors{Pos{File: file, Line: 1, Col: 1}.Errorf("%s is encrypted with ansible-vault, which deployer does not support; encrypt it with age: "+
			"ansible-vault view %[1]s | deployer secrets encrypt - -o %[1]s.age, and remove it", file)}
	case isSOPS(root):
		return Errors{At(file, ValueOf(root, "sops")).Errorf("%s is encrypted with SOPS, which deployer does not support; encrypt it with age: "+
			"sops -d %[1]s | deployer secrets encrypt - -o %[1]s.age, and remove it", file)}
	case bytes.Contains(data, []byte("!vault")):
		if n := tagged(root, "!vault"); n != nil {
			return Errors{At(file, n).Errorf("this text is encrypted with ansible-vault, which deployer does not support; " +
				"put what is in it into a file of its own, and encrypt that with age: deployer secrets encrypt FILE")}
		}
	}
	return nil
}

// isSOPS reports whether a file has the keys that sops writes into every file.
func isSOPS(root *yaml.Node) bool {
	meta := ValueOf(root, "sops")
	return meta != nil && ValueOf(meta, "mac") != nil && (ValueOf(meta, "version") != nil || ValueOf(meta, "lastmodified") != nil)
}

// ValueOf returns the value of a key of a mapping; nil without one, and for a node of another kind or nil.
func ValueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// tagged finds the first node below n with a tag.
func tagged(n *yaml.Node, tag string) *yaml.Node {
	if n.Tag == tag {
		return n
	}
	for _, c := range n.Content {
		if found := tagged(c, tag); found != nil {
			return found
		}
	}
	return nil
}
