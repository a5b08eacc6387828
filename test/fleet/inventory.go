package fleet

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"deployer/inventory"
)

// Site has the content of an inventory except the connections to hosts. Values may be
// YAML nodes, such as those of Secret.
type Site struct {
	Vars     map[string]any
	HostVars map[string]map[string]any // by host
	Groups   map[string]string         // name -> pattern of hosts: "n[001:040]"
	MaxFail  map[string]string
	Forks    int
	// ConnectTimeout is ssh.connect_timeout by host. Hosts without an entry have
	// "30s", as they share the processors with their controller.
	ConnectTimeout map[string]string
}

// Secret returns a text that an inventory marks as secret.
func Secret(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!secret", Value: text}
}

// Inventory writes the fleet's inventory file and reads it as deployer does.
func (f *Fleet) Inventory(s Site) (*inventory.Inventory, error) {
	data, err := yaml.Marshal(f.Document(s))
	if err != nil {
		return nil, fmt.Errorf("writing the fleet's inventory: %w", err)
	}
	return inventory.Parse("fleet.yaml", data)
}

// Document returns the content of the fleet's inventory file, which can be marshalled
// as YAML.
func (f *Fleet) Document(s Site) map[string]any {
	ssh := map[string]any{"port": f.Port, "key": f.keyFile, "known_hosts": f.knownHostsFile, "agent": false, "connect_timeout": "30s"}
	hosts := map[string]any{}
	for _, h := range f.Hosts {
		entry := map[string]any{"address": h.Address}
		if vars := s.HostVars[h.Name]; len(vars) > 0 {
			entry["vars"] = vars
		}
		if timeout := s.ConnectTimeout[h.Name]; timeout != "" {
			entry["ssh"] = map[string]any{"connect_timeout": timeout}
		}
		hosts[h.Name] = entry
	}
	doc := map[string]any{"ssh": ssh, "hosts": hosts}
	if len(s.Vars) > 0 {
		doc["vars"] = s.Vars
	}
	if len(s.Groups) > 0 {
		groups := map[string]any{}
		for name, pattern := range s.Groups {
			groups[name] = map[string]any{"hosts": pattern}
		}
		doc["groups"] = groups
	}
	if len(s.MaxFail) > 0 {
		doc["max_fail"] = s.MaxFail
	}
	if s.Forks > 0 {
		doc["forks"] = s.Forks
	}
	return doc
}
