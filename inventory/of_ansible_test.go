package inventory

import (
	"strings"
	"testing"
)

// TestInventoriesOfAnsible: the error for an inventory of Ansible says what to do, and
// that for a wrong inventory of deployer's says what is wrong.
func TestInventoriesOfAnsible(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[web]\nh1 ansible_host=10.0.0.1\n",
		"h1\nh2 ansible_user=root\n",
		"# hosts\n[web:children]   # below\ndb\n[db]\n",
		"[web]\r\nh1\r\n",
		"[web]\nh1 x=[1,2]\n",
		"all:\n  hosts: {h1: }\n",
		"web:\n  hosts:\n    h1:\n  vars: {a: 1}\nempty:\n",
		"all:\n  children: {web: {hosts: {h1: }}}\n",
		"plugin: amazon.aws.aws_ec2\n",
		`{"_meta": {"hostvars": {}}, "web": {"hosts": ["h1"]}}`,
		"#!/usr/bin/env python3\nif '--list' in sys.argv: pass\n",
	} {
		_, err := Parse("site/hosts", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "site/hosts: this is an inventory of Ansible: `deployer inventory import site/hosts -f inventory.yaml`") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	for _, text := range []string{
		"", "hosts: {", "hosts: [a, b]", "hosts:\n  m1: {adress: 10.0.0.1}\n", "host:\n  m1:\n", "[m1, m2]\n", "- m1\n", "[web", "groups:\n  a: {hosts: [x]}\n",
		"hosts: {m1: }\nall: {vars: {a: 1}}\n", "cluster: {name: x}\nssh: {vars: {}}\n", "a: b\n", "vars: {hosts: {}}\n",
	} {
		if _, err := Parse("i.yaml", []byte(text)); err == nil || strings.Contains(err.Error(), "Ansible") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	if _, err := Load(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") || !strings.Contains(err.Error(), "inventory import") {
		t.Errorf("a directory: error %v", err)
	}
}

// TestOwnKeys: the keys that tell an inventory from one of Ansible are all there are.
func TestOwnKeys(t *testing.T) {
	t.Parallel()
	_, err := Parse("i.yaml", []byte("hosts: {m1: }\nnone: 1\n"))
	if want := "known here: " + strings.Join(ownKeys, ", "); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
