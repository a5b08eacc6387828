package importer

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// login is how Ansible's connection variables reach a host: the address, empty when it is
// the host's name, and keys of the section ssh.
type login struct {
	address string
	ssh     map[string]any
}

// sshKeys are the keys that a login can have, in the order in which they are written.
var sshKeys = []string{"user", "port", "key", "become", "bastion"}

// The variables with one meaning; the first that is set wins.
var (
	addressVars = []string{"ansible_ssh_host", "ansible_host"}
	portVars    = []string{"ansible_ssh_port", "ansible_port"}
	userVars    = []string{"ansible_ssh_user", "ansible_user"}
	keyVars     = []string{"ansible_ssh_private_key_file", "ansible_private_key_file"}
	sshArgVars  = []string{"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"}
)

// becomeMethods are the values of ssh.become but none.
var becomeMethods = []string{"sudo", "doas", "su"}

// loginOf returns the login that variables make. Values with Jinja count as unset; the
// connection variables are noted where they are defined.
func loginOf(vs vars) login {
	l := login{ssh: map[string]any{}}
	l.address, _ = vs.text(addressVars...)
	if user, ok := vs.text(userVars...); ok {
		l.ssh["user"] = user
	}
	if text, ok := vs.text(portVars...); ok {
		if port, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			l.ssh["port"] = port
		}
	}
	if key, ok := vs.text(keyVars...); ok {
		l.ssh["key"] = key
	}
	method, given := vs.text("ansible_become_method")
	if !slices.Contains(becomeMethods, method) {
		method, given = "sudo", false
	}
	if become, ok := vs.text("ansible_become"); ok && !isTrue(become) {
		l.ssh["become"] = "none"
	} else if ok || given {
		l.ssh["become"] = method
	}
	for _, name := range sshArgVars {
		if text, ok := vs.text(name); ok {
			if args := parseSSHArgs(text); args.bastions != nil {
				l.ssh["bastion"] = args.bastions
				break
			}
		}
	}
	return l
}

// text returns the first of the variables that is set, as a text.
func (vs vars) text(names ...string) (string, bool) {
	for _, name := range names {
		if v, ok := vs[name]; ok && v.v != nil && !hasJinja(v.v) {
			return fmt.Sprint(v.v), true
		}
	}
	return "", false
}

// isTrue reports whether Ansible takes a text for true.
func isTrue(text string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", "t", "y"}, strings.ToLower(strings.TrimSpace(text)))
}

// section returns the keys as the section ssh.
func (l login) section() *mapping {
	out := &mapping{}
	for _, key := range sshKeys {
		if v, ok := l.ssh[key]; ok {
			out.set(key, v)
		}
	}
	return out
}

// over lays a login over another.
func (l login) over(lower login) login {
	out := login{address: l.address, ssh: map[string]any{}}
	for _, from := range []login{lower, l} {
		for key, v := range from.ssh {
			out.ssh[key] = v
		}
	}
	return out
}

// without returns the part of a login that lower does not give already. A key that lower
// gives and this login lacks gets the value that means none, where there is one.
func (l login) without(lower login) (rest login, lost []string) {
	rest = login{address: l.address, ssh: map[string]any{}}
	none := map[string]any{"port": 22, "become": "none", "bastion": []any{}}
	for _, key := range sshKeys {
		v, ok := l.ssh[key]
		below, isBelow := lower.ssh[key]
		switch {
		case ok && !reflect.DeepEqual(v, below):
			rest.ssh[key] = v
		case !ok && isBelow && none[key] != nil:
			rest.ssh[key] = none[key]
		case !ok && isBelow:
			lost = append(lost, key)
		}
	}
	return rest, lost
}
