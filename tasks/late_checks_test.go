package tasks

import (
	"strings"
	"testing"

	"deployer/engine"
	"deployer/strictyaml"
)

// TestWrongConstantsAreFoundWithoutAHost: values outside of a closed set, a range or a grammar
// are errors of decoding, or of Valid, which both come before any host is contacted.
func TestWrongConstantsAreFoundWithoutAHost(t *testing.T) {
	t.Parallel()
	registry := engine.NewRegistry(Modules())
	for args, want := range map[string]string{
		"unit: {name: ssh.service, state: sarted}":                         "state: want one of started, stopped, restarted, reloaded",
		"copy: {content: b, dest: /srv/b, mode: 493}":                      `mode: want an octal mode such as "0644", or preserve, got "493"`,
		"line: {path: /x, line: x, regexp: '('}":                           "regexp: want a regular expression in Go's syntax",
		"line: {path: relative, line: x}":                                  "path: want an absolute path",
		"wait_for: {port: 99999, timeout: 5s}":                             "port: want a value from 1 to 65535",
		"wait_for: {port: 80, timeout: -5s}":                               "timeout: want a value that is not negative",
		"cron: {name: x, minute: '61', job: /bin/true}":                    `f:1:19: minute: want minutes of crontab(5), such as 0, */5 or 1,31, got "61": "61" is no number from 0 to 59`,
		"directory: {paths: [/srv, srv/relative]}":                         "paths: want an absolute path such as /etc/motd, got \"srv/relative\"",
		"file: {path: /x, state: touch}":                                   "write present",
		"file: {path: /x, owner: 'root:root'}":                             "owner: want a name or number of a user or group",
		"download: {url: 'ftp://x', dest: /x, sha256: abc}":                "sha256: want a SHA-256",
		"command: {cmd: ls, chdir: srv}":                                   "chdir: want an absolute path",
		"text_block: {path: /x, block: a, state: gone}":                    "state: want one of present, absent",
		"timer: {name: x, command: /x, on_calendar: [daily, 'Fri 25:00']}": `on_calendar: want a time of systemd.time(7), such as daily or Mon..Fri 03:00, got "Fri 25:00": hour: "25" is no number from 0 to 23`,
		"kernel_module: {names: [br_netfilter, a.ko]}":                     "names: want the name of a kernel module",
		"sysctl: {settings: {net/../../etc/x: 1}}":                         "settings: want the name of a kernel setting, such as net.ipv4.ip_forward, got the key",
		"package: {name: [nginx, -y]}":                                     "name: want a package",
		"package: {}":                                                      "name is missing",
		"user: {name: Bob}":                                                "name: want a name of lower case letters",
		"user: {name: bob, groups: 'sudo,,adm'}":                           "groups: want names or numbers of users or groups, separated by commas",
		"group: {name: bob, gid: 4294967295}":                              "gid: want a value from 0 to 4294967294",
		"hostname: {name: a_b}":                                            "name: want a host name",
		"timezone: {name: ../x}":                                           "name: want a time zone",
		"authorized_key: {user: bob, key: ssh-ed25519 AAAA}":               "may be truncated",
		"repository: {name: x, url: deb.example.org}":                      "url: want a URL with its scheme",
		"wait_for: {http: {url: 'http://x', status: 20}}":                  "http.status: want a value from 100 to 599",
		"wait_for: {http: {url: 'http://x', headers: {'a b': c}}}":         "got the key \"a b\"",
		"host_checks: {requirements: [{kind: prot, port: 1}]}":             "requirements[0].kind: want one of port",
		"host_checks: {requirements: [{kind: port, protocol: sctp}]}":      "requirements[0].protocol: want one of tcp, udp",
		"facts: {gather: [disks]}":                                         "gather: want one of hardware",
		"git: {repo: x, dest: /x, version: 'a b'}":                         "version: want a branch, tag or commit",
		"command: {cmd: ls, env: {'A B': c}}":                              "env: want the name of an environment variable, got the key",
		"unpack: {from: /x, dest: /y, include: ['[']}":                     "include: want a pattern",
	} {
		kind, text, _ := strings.Cut(args, ": ")
		node, err := strictyaml.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if registry[kind].New == nil {
			t.Fatalf("there is no module %s", kind)
		}
		into := registry[kind].New()
		if err = strictyaml.Decode("f", node, into); err == nil {
			err = engine.Validate(into)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}
