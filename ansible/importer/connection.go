package importer

import (
	"fmt"
	"regexp"
	"strings"
)

// unneeded are variables without a meaning for deployer: they are dropped without a
// note.
var unneeded = map[string]bool{
	"ansible_python_interpreter": true, // the agent needs no Python
	"ansible_ssh_pipelining":     true,
	"ansible_pipelining":         true,
	"ansible_connection":         true, // connection notes any value but ssh
	"ansible_shell_type":         true,
	"ansible_os_family":          true,
}

var (
	proxyJump    = regexp.MustCompile(`(?:-J\s*|-o\s*["']?ProxyJump[= ])([^\s"']+)["']?`)
	proxyCommand = regexp.MustCompile(`-o\s*["']?ProxyCommand[= ]["']?ssh\s+([^"']*)["']*`)
	hostKeyCheck = regexp.MustCompile(`-o\s*["']?(?:StrictHostKeyChecking|UserKnownHostsFile)[= ]\S+`)
)

// connection removes the connection variables (ansible_*) from vs. connection returns the
// address, empty when none is given, and the section ssh.
func (c *converter) connection(vs vars) (address string, ssh *mapping) {
	ssh = &mapping{}
	for _, name := range vs.names() {
		v := vs[name]
		text := fmt.Sprint(v.v)
		if !strings.HasPrefix(name, "ansible_") {
			continue
		}
		delete(vs, name)
		if c.templated(name, v) {
			continue
		}
		switch name {
		case "ansible_host", "ansible_ssh_host":
			address = text
		case "ansible_port", "ansible_ssh_port":
			ssh.set("port", v.v)
		case "ansible_user", "ansible_ssh_user":
			ssh.set("user", text)
		case "ansible_ssh_private_key_file", "ansible_private_key_file":
			ssh.set("key", text)
		case "ansible_become":
			if v.v == true {
				ssh.setDefault("become", "sudo")
			}
		case "ansible_become_method":
			if text == "sudo" || text == "doas" || text == "su" {
				ssh.set("become", text)
				continue
			}
			c.note(v.at, name+"="+text, "ssh.become is sudo, doas or su")
		case "ansible_become_user":
			if text != "root" {
				c.note(v.at, name+"="+text, "the agent runs as root; set become_user in the plays and tasks that need another user")
			}
		case "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args":
			c.sshArgs(name, text, v.at, ssh)
		case "ansible_become_password", "ansible_become_pass", "ansible_sudo_pass":
			c.note(v.at, name, "passwords are not copied: put it into an environment variable, and the name of that into ssh.become_password_env")
		case "ansible_password", "ansible_ssh_pass":
			c.note(v.at, name, "passwords are not copied: put it into an environment variable, and the name of that into ssh.password_env; or run with --ask-pass")
		case "ansible_connection":
			if text != "ssh" && text != "smart" && text != "paramiko" {
				c.note(v.at, name+"="+text, "hosts are reached over SSH; for the controller itself there is delegate_to: localhost")
			}
		default:
			if !unneeded[name] {
				c.note(v.at, fmt.Sprintf("%s=%s", name, text), "no equivalent")
			}
		}
	}
	return address, ssh
}

// sshArgs translates ProxyJump and ProxyCommand in ssh options into bastions, and
// notes all other options.
func (c *converter) sshArgs(name, text, at string, ssh *mapping) {
	rest := text
	if m := proxyJump.FindStringSubmatch(rest); m != nil {
		var hops []any
		for _, hop := range strings.Split(m[1], ",") {
			hops = append(hops, hopOf(hop, ""))
		}
		ssh.set("bastion", hops)
		rest = strings.Replace(rest, m[0], "", 1)
	} else if m := proxyCommand.FindStringSubmatch(rest); m != nil && strings.Contains(m[1], "-W") {
		if hop, ok := hopOfCommand(m[1]); ok {
			ssh.set("bastion", []any{hop})
			rest = strings.Replace(rest, m[0], "", 1)
		}
	}
	if m := hostKeyCheck.FindString(rest); m != "" {
		c.note(at, m, "host keys are always checked; ssh.host_keys: accept-new adds unknown ones")
		rest = hostKeyCheck.ReplaceAllString(rest, "")
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		c.note(at, name+": "+rest, "no equivalent; set the options in ~/.ssh/config")
	}
}

// hopOf parses [user@]host[:port] into a bastion; port is the default port.
func hopOf(text, port string) map[string]any {
	out := map[string]any{}
	if user, host, ok := strings.Cut(text, "@"); ok {
		out["user"], text = user, host
	}
	host, p := hostPort(text)
	out["address"] = strings.Trim(host, "[]")
	if p == "" {
		p = port
	}
	if p != "" {
		out["port"] = literal(p)
	}
	return out
}

// hopOfCommand parses the arguments of `ssh -W %h:%p ...`. hopOfCommand returns false when they
// hold more than a host, a port, a user and ignorable options.
func hopOfCommand(args string) (map[string]any, bool) {
	all, err := words(args)
	if err != nil {
		return nil, false
	}
	port, user, host := "", "", ""
	for i := 0; i < len(all); i++ {
		switch w := all[i]; {
		case w == "-W" || w == "-o" || w == "-i":
			i++ // the option's value; a bastion uses the key of the host behind it
		case w == "-p" && i+1 < len(all):
			i++
			port = all[i]
		case w == "-l" && i+1 < len(all):
			i++
			user = all[i]
		case strings.HasPrefix(w, "-"):
		case host == "":
			host = w
		default:
			return nil, false
		}
	}
	if host == "" {
		return nil, false
	}
	hop := hopOf(host, port)
	if user != "" {
		hop["user"] = user
	}
	return hop, true
}
