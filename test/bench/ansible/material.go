package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/test/lab/plan"
)

// material is a directory with the input of the tools: a project each for deployer
// and Ansible, as their users write it, and the scripts.
type material struct {
	dir   string
	files plan.Files
	hosts []vars
}

func (m material) path(parts ...string) string {
	return filepath.Join(append([]string{m.dir}, parts...)...)
}

// newMaterial writes the files that do not change between runs.
func newMaterial(dir string, files plan.Files, hosts []plan.Host) (material, error) {
	m := material{dir: dir, files: files}
	for i, h := range hosts {
		m.hosts = append(m.hosts, vars{name: h.Name, address: h.Address.String(), index: i + 1,
			release: "1.10", owner: "operations", port: 8000, peers: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}})
	}
	write := map[string]string{
		"deployer/site.yaml": deployerPlaybook(), "ansible/site.yaml": ansiblePlaybook(),
		"ansible/ansible.cfg": m.ansibleConfig(), "reset.sh": resetScript(), "look.sh": lookScript(),
	}
	for _, tool := range []string{"deployer", "ansible"} {
		for i := 1; i <= services; i++ {
			write[tool+"/files/"+service(i)] = unit(i)
		}
	}
	for i := 1; i <= templates; i++ {
		write["deployer/templates/"+templateSrc(i)] = goTemplate(i)
		write["ansible/templates/"+templateSrc(i)] = jinjaTemplate(i)
	}
	for name, inventory := range map[string]any{"deployer/inventory.yaml": m.deployerInventory(), "ansible/inventory.yaml": m.ansibleInventory()} {
		text, err := yaml.Marshal(inventory)
		if err != nil {
			return m, err
		}
		write[name] = string(text)
	}
	if err := m.write(write); err != nil {
		return m, err
	}
	return m, m.setVersion(1)
}

// setVersion writes the copied files, and the scripts, which contain them.
func (m material) setVersion(version int) error {
	write := map[string]string{}
	for i := 1; i <= copies; i++ {
		for _, tool := range []string{"deployer", "ansible"} {
			write[tool+"/files/"+dataSrc(i)] = data(i, versionOf(i, version))
		}
	}
	for _, h := range m.hosts {
		write["scripts/"+h.name] = script(h, version)
	}
	return m.write(write)
}

func (m material) write(files map[string]string) error {
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(m.path(name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// common returns the variables that all hosts share.
func (m material) common() map[string]any {
	v := m.hosts[0]
	return map[string]any{"release": v.release, "owner": v.owner, "port": v.port, "peers": v.peers}
}

func (m material) deployerInventory() map[string]any {
	hosts := map[string]any{}
	for _, h := range m.hosts {
		hosts[h.name] = map[string]any{"address": h.address, "vars": map[string]any{"index": h.index}}
	}
	return map[string]any{
		"ssh":  map[string]any{"user": "root", "key": m.files.Key(), "known_hosts": m.files.KnownHosts()},
		"vars": m.common(), "hosts": hosts,
	}
}

func (m material) ansibleInventory() map[string]any {
	hosts := map[string]any{}
	for _, h := range m.hosts {
		hosts[h.name] = map[string]any{"address": h.address, "index": h.index}
	}
	return map[string]any{"all": map[string]any{"hosts": hosts, "vars": m.common()}}
}

// ansibleConfig returns the settings that guides to a fast Ansible advise: all hosts
// at once, one SSH connection for each, and pipelining.
func (m material) ansibleConfig() string {
	return fmt.Sprintf(`[defaults]
inventory = inventory.yaml
forks = %d
interpreter_python = /usr/bin/python3
retry_files_enabled = False

[ssh_connection]
pipelining = True
ssh_args = -F %s -o ControlMaster=auto -o ControlPersist=60s
`, len(m.hosts), m.files.SSHConfig())
}

// everywhere returns a shell script for the controller. It runs a script on all hosts
// at once, over one OpenSSH connection each, and fails when one of them fails.
func (m material) everywhere(scriptOf func(host string) string) string {
	var b strings.Builder
	b.WriteString("pids=\n")
	for _, h := range m.hosts {
		fmt.Fprintf(&b, "ssh -F %s %s sh -s <%s & pids=\"$pids $!\"\n", m.files.SSHConfig(), h.name, scriptOf(h.name))
	}
	b.WriteString("bad=0; for p in $pids; do wait $p || bad=1; done; exit $bad\n")
	return b.String()
}
