package strictyaml

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// Files that sops or ansible-vault have encrypted are told from plain ones, in
// all forms that these write.
func TestEncryptedFilesAreRejected(t *testing.T) {
	const sops = " is encrypted with SOPS, which deployer does not support; encrypt it with age: sops -d v.yaml | deployer secrets encrypt - -o v.yaml.age, and remove it"
	const vault = "v.yaml:1:1: v.yaml is encrypted with ansible-vault, which deployer does not support; encrypt it with age: " +
		"ansible-vault view v.yaml | deployer secrets encrypt - -o v.yaml.age, and remove it"
	const text = "this text is encrypted with ansible-vault, which deployer does not support; " +
		"put what is in it into a file of its own, and encrypt that with age: deployer secrets encrypt FILE"
	for content, want := range map[string]string{
		"password: ENC[AES256_GCM,data:x]\nsops:\n  kms: []\n  lastmodified: '2024-01-01T00:00:00Z'\n  mac: ENC[x]\n": "v.yaml:3:3: v.yaml" + sops,
		`{"a": "ENC[x]", "sops": {"age": [], "mac": "ENC[x]", "version": "3.9.0"}}`:                                   "v.yaml:1:25: v.yaml" + sops,
		"$ANSIBLE_VAULT;1.1;AES256\n3162613264\n":                                                                     vault,
		"\n$ANSIBLE_VAULT;1.2;AES256;prod\n3162613264\n":                                                              vault,
		"a: 1\nb:\n  - c: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      31626\n":                                   "v.yaml:3:8: " + text,
		"sops: {mac: 1}\n":                     "",
		"sops: is a tool\n":                    "",
		"a: '!vault'\n# $ANSIBLE_VAULT;1.1;\n": "",
		"":                                     "",
	} {
		root, err := Parse("v.yaml", []byte(content))
		if want == "" {
			if err != nil || root == nil {
				t.Errorf("%q: %v", content, err)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q\n error is %v\n want     %s", content, err, want)
		}
	}
	if isSOPS(&yaml.Node{Kind: yaml.SequenceNode}) {
		t.Error("a list is no file of sops")
	}
}
