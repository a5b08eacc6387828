package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// unneeded are variables without a meaning for deployer: they are dropped without a
// note.
var unneeded = map[string]bool{
	"ansible_python_interpreter": true, // the agent needs no Python
	"ansible_ssh_pipelining":     true,
	"ansible_pipelining":         true,
	"ansible_shell_type":         true,
	"ansible_os_family":          true,
}

// connection removes the connection variables (ansible_*) from vs, returns the login that
// they make, and notes those without an equivalent.
func (c *converter) connection(vs vars) login {
	out := loginOf(vs)
	c.noteAliases(vs)
	for _, name := range vs.names() {
		if !strings.HasPrefix(name, "ansible_") {
			continue
		}
		if v := vs[name]; v.v != nil && !c.templated(name, v) {
			c.noteConnection(name, v)
		}
		delete(vs, name)
	}
	return out
}

func (c *converter) noteConnection(name string, v value) {
	text := fmt.Sprint(v.v)
	switch name {
	case "ansible_host", "ansible_ssh_host", "ansible_user", "ansible_ssh_user", "ansible_ssh_private_key_file", "ansible_private_key_file":
	case "ansible_port", "ansible_ssh_port":
		if _, err := strconv.Atoi(strings.TrimSpace(text)); err != nil {
			c.note(v.at, name+"="+text, "is not a port")
		}
	case "ansible_become":
		if !isTrue(text) && !slices.Contains([]string{"false", "no", "off", "0", "f", "n"}, strings.ToLower(strings.TrimSpace(text))) {
			c.note(v.at, name+"="+text, "is no boolean, and false in Ansible: ssh.become is none")
		}
	case "ansible_become_method":
		if !slices.Contains(becomeMethods, text) {
			c.note(v.at, name+"="+text, "ssh.become is sudo, doas or su")
		}
	case "ansible_become_user":
		if text != "root" {
			c.note(v.at, name+"="+text, "the agent runs as root; set become_user in the plays and tasks that need another user")
		}
	case "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args":
		c.noteSSHArgs(name, text, v.at)
	case "ansible_become_password", "ansible_become_pass", "ansible_sudo_pass", "ansible_su_pass":
		c.note(v.at, name, "passwords are not copied: put it into an environment variable, and the name of that into ssh.become_password_env")
	case "ansible_password", "ansible_ssh_pass", "ansible_ssh_password":
		c.note(v.at, name, "passwords are not copied: put it into an environment variable, and the name of that into ssh.password_env; or run with --ask-pass")
	case "ansible_connection":
		if text != "ssh" && text != "smart" && text != "paramiko" {
			c.note(v.at, name+"="+text, "hosts are reached over SSH; for the controller itself there is delegate_to: localhost")
		}
	case "ansible_group_priority":
		c.note(v.at, name+"="+text, "has no effect here, in Ansible either: it belongs into an inventory file")
	default:
		if !unneeded[name] {
			c.note(v.at, assigned(name, text), "no equivalent")
		}
	}
}

// assigned returns NAME=VALUE, or NAME alone when that is the name of a secret.
func assigned(name, text string) string {
	if secretName.MatchString(name) {
		return name
	}
	return name + "=" + fmt.Sprint(withoutSecrets(text))
}

// noteAliases notes the variable that loses where two with one meaning differ.
func (c *converter) noteAliases(vs vars) {
	for _, names := range [][]string{addressVars, portVars, userVars, keyVars} {
		winner, loser := vs[names[0]], vs[names[1]]
		if winner.v != nil && loser.v != nil && fmt.Sprint(winner.v) != fmt.Sprint(loser.v) {
			c.note(loser.at, fmt.Sprintf("%s=%v", names[1], loser.v), "has no effect: "+names[0]+" is set, too, and wins")
		}
	}
}

func (c *converter) noteSSHArgs(name, text, at string) {
	args := parseSSHArgs(text)
	for _, option := range args.hostKeys {
		c.note(at, name+": "+option, "host keys are always checked; ssh.host_keys: accept-new adds unknown ones")
	}
	if len(args.others) > 0 {
		c.note(at, name+": "+strings.Join(args.others, " "), "no equivalent; set the options in ~/.ssh/config")
	}
}

// hostLogin returns the settings of a host's login that neither all hosts nor its groups have.
func (c *converter) hostLogin(host string) login {
	lower := loginOf(c.src.groupVars["all"])
	for _, g := range c.groupsOf[host] {
		if !c.isRole(g) {
			lower = loginOf(c.src.groupVars[g]).over(lower)
		}
	}
	rest, lost := loginOf(c.src.variablesOf(host, c.groupsOf[host])).without(lower)
	for _, key := range lost {
		name := map[string]string{"user": "ansible_user", "key": "ansible_ssh_private_key_file"}[key]
		c.note(c.src.hostVars[host][name].at, name+" of host "+host, "is unset in Ansible; here ssh."+key+" is that of its groups")
	}
	return rest
}
