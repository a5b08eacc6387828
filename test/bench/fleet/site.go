package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/test/fleet"
)

// The names of the inventories in the directory of the fleet.
const (
	inventoryFile = "inventory.yaml"
	changedFile   = "changed.yaml" // the same but for one variable of one host
)

func hostName(i int) string { return fmt.Sprintf("n%04d", i+1) }

// changedHost returns the name of the host whose variable changes: the 42nd, or the
// last of a smaller fleet.
func changedHost(n int) string { return hostName(min(n, 42) - 1) }

func writeInventories(f *fleet.Fleet, forks int, dir string) error {
	site := fleet.Site{
		Forks:    forks,
		Vars:     map[string]any{"release": "1.0", "port": 8080, "peers": []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}},
		HostVars: map[string]map[string]any{},
		Groups:   map[string]string{},
	}
	n := len(f.Hosts)
	for i, h := range f.Hosts {
		site.HostVars[h.Name] = map[string]any{"index": i + 1, "message": "welcome"}
	}
	for i := 0; i < n; i += 50 { // one group for each rack
		last := min(i+50, n)
		site.Groups[fmt.Sprintf("rack%d", i/50+1)] = fmt.Sprintf("n[%04d:%04d]", i+1, last)
	}
	if err := writeInventory(f, site, filepath.Join(dir, inventoryFile)); err != nil {
		return err
	}
	site.HostVars[changedHost(n)]["message"] = "changed"
	return writeInventory(f, site, filepath.Join(dir, changedFile))
}

func writeInventory(f *fleet.Fleet, site fleet.Site, path string) error {
	data, err := yaml.Marshal(f.Document(site))
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// round has the ten steps of a round of the playbook, in about the shares in which
// playbooks use their modules. {k} is the number of the round.
var round = strings.Split(strings.TrimSpace(`
- {name: directory {k}, directory: {paths: [/etc/fleet/{k}], mode: "0750"}}
- {name: main configuration {k}, template: {src: main.conf.tmpl, dest: /etc/fleet/{k}/main.conf}, notify: reload}
- {name: peers {k}, template: {src: peers.tmpl, dest: /etc/fleet/{k}/peers, mode: "0640"}}
- {name: message {k}, copy: {content: "{{ message }} to {{ host.name }}\n", dest: /etc/fleet/{k}/message}, when: {k} == 1 || index > 0}
- {name: data {k}, copy: {src: data, dest: /etc/fleet/{k}/data}}
- {name: release {k}, file: {path: /etc/fleet/{k}/release, content: "{{ release }}\n", mode: "0644"}}
- {name: odd hosts {k}, file: {path: /etc/fleet/{k}/odd, content: "{{ index }}\n"}, when: index % 2 == 1}
- {name: current {k}, link: {path: /etc/fleet/{k}/current, to: release}}
- {name: this architecture {k}, file: {path: /etc/fleet/{k}/arch, content: "{{ facts.arch }}\n"}, when: facts.arch == "amd64" && release != ""}
- {name: leftovers {k}, absent: {paths: [/etc/fleet/{k}/old, /etc/fleet/{k}/older]}}
`), "\n")

// playbookText returns a playbook with the given number of tasks. Every third round
// registers a result and uses it, which ends a segment; every tenth round ends with a
// barrier.
func playbookText(tasks int) string {
	var b strings.Builder
	b.WriteString("- name: fleet\n  hosts: all\n  handlers:\n    - {name: reload, file: {path: /etc/fleet/reloaded, content: \"{{ release }}\\n\"}}\n  tasks:\n")
	for i := range tasks {
		k, line := i/len(round)+1, round[i%len(round)]
		if last := i%len(round) == len(round)-1; last && k%10 == 0 {
			line = strings.TrimSuffix(line, "}") + ", barrier: true}"
		} else if last && k%3 == 0 {
			line = `- {name: look {k}, stat: {path: /etc/fleet/{k}/release}, register: looked}`
		} else if i%len(round) == 0 && k%3 == 1 && k > 1 {
			line = `- {name: directory {k}, directory: {paths: [/etc/fleet/{k}]}, when: looked.exists}`
		}
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(line, "{k}", fmt.Sprint(k)))
	}
	return b.String()
}

const mainConf = `# {{ host.name }} at {{ host.address }}
release = {{ release }}
listen = {{ host.address }}:{{ port }}
{{ if eq (mod .index 2) 1 }}odd = yes
{{ end }}cpus = {{ facts.cpus }}
{{ range $i, $peer := peers }}peer.{{ $i }} = {{ $peer | quote }}
{{ end }}`

const peers = `{{ range groups.rack1 }}{{ . }}
{{ end }}`

// writePlaybook writes the playbook with its files and templates.
func writePlaybook(dir string, tasks int) error {
	for name, content := range map[string]string{
		"site.yaml":                playbookText(tasks),
		"templates/main.conf.tmpl": mainConf,
		"templates/peers.tmpl":     peers,
		"files/data":               strings.Repeat("0123456789abcdef0123456789ABCDEF", 128), // 4 KiB
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
