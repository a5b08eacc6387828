package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"deployer/shortlist"
)

// The outputs of KubeOne's configurations.
const (
	outputAPI           = "kubeone_api"
	outputHosts         = "kubeone_hosts"
	outputStaticWorkers = "kubeone_static_workers"
	outputWorkers       = "kubeone_workers"
	outputProxy         = "proxy"
)

// output is what terraform output -json prints.
type output struct {
	api struct {
		Endpoint string   `json:"endpoint"`
		Names    []string `json:"apiserver_alternative_names"`
	}
	controlPlane controlPlane
	workers      map[string]hostSet // static ones, by the name of their set
	machines     []string           // names of sets that machine-controller makes
	proxy        struct {
		HTTP    string `json:"http"`
		HTTPS   string `json:"https"`
		NoProxy string `json:"noProxy"`
	}
	unknown []string // keys that no type here has, as paths
}

// controlPlane are the masters.
type controlPlane struct {
	ClusterName   string `json:"cluster_name"`
	CloudProvider string `json:"cloud_provider"`
	Untaint       bool   `json:"untaint"`
	hostSet
}

// hostSet is a set of hosts with the same settings. Its lists have an element for each host.
type hostSet struct {
	Public    []string          `json:"public_address"`
	Private   []string          `json:"private_address"`
	IPv6      [][]string        `json:"ipv6_addresses"`
	Hostnames []string          `json:"hostnames"`
	User      string            `json:"ssh_user"`
	Port      int               `json:"ssh_port"`
	Key       string            `json:"ssh_private_key_file"`
	Bastion   string            `json:"bastion"`
	BastionAt int               `json:"bastion_port"`
	BastionBy string            `json:"bastion_user"`
	Labels    map[string]string `json:"labels"`
	Kubelet   struct {
		MaxPods int `json:"max_pods"`
	} `json:"kubelet"`
}

// known are the keys whose values are taken over, and those that need not be: the inventory says the same in
// another way, or deployer finds it out.
func known() map[string][]string {
	hosts := []string{
		"public_address", "private_address", "ipv6_addresses", "hostnames", "ssh_user", "ssh_port", "ssh_private_key_file", "ssh_agent_socket",
		"bastion", "bastion_port", "bastion_user", "labels", "kubelet", "kubelet.max_pods", "operating_system", "leader_ip",
	}
	return map[string][]string{
		outputAPI: {"endpoint", "apiserver_alternative_names"}, outputProxy: {"http", "https", "noProxy"},
		outputHosts: append([]string{"cluster_name", "cloud_provider", "untaint"}, hosts...), outputStaticWorkers: hosts,
	}
}

// read decodes the output. name is that of the file, for errors.
func read(name string, text []byte) (*output, error) {
	var all map[string]struct {
		Value json.RawMessage `json:"value"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s is not what terraform output -json prints: %w", name, describe(err, text))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has text behind the output of Terraform", name)
	}
	if all[outputHosts].Value == nil {
		return nil, fmt.Errorf("%s has no output %s, only %s: run terraform output -json where the configuration has the outputs of KubeOne", name, outputHosts, names(all))
	}
	o := &output{}
	var hosts struct {
		ControlPlane *controlPlane `json:"control_plane"`
	}
	var machines map[string]any
	for _, part := range []struct {
		name string
		into any
	}{{outputAPI, &o.api}, {outputHosts, &hosts}, {outputStaticWorkers, &o.workers}, {outputWorkers, &machines}, {outputProxy, &o.proxy}} {
		value := all[part.name].Value
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, part.into); err != nil {
			return nil, fmt.Errorf("%s: output %s: %w", name, part.name, err)
		}
	}
	if hosts.ControlPlane == nil {
		return nil, fmt.Errorf("%s: output %s has no control_plane", name, outputHosts)
	}
	o.controlPlane, o.machines = *hosts.ControlPlane, slices.Sorted(maps.Keys(machines))
	for output := range all {
		o.note(output, all[output].Value)
	}
	slices.Sort(o.unknown)
	return o, nil
}

// note remembers the keys of an output that are not taken over.
func (o *output) note(output string, value json.RawMessage) {
	var tree map[string]any
	keys, ours := known()[output]
	switch {
	case output == outputWorkers:
		return
	case !ours || json.Unmarshal(value, &tree) != nil:
		o.unknown = append(o.unknown, output)
		return
	}
	sets := map[string]any{output: tree}
	if output == outputHosts || output == outputStaticWorkers {
		sets = map[string]any{}
		for set, hosts := range tree {
			sets[output+"."+set] = hosts
		}
	}
	for path, set := range sets {
		fields, _ := set.(map[string]any)
		for key, v := range fields {
			if inner, ok := v.(map[string]any); ok && key == "kubelet" {
				for k, value := range inner {
					if !slices.Contains(keys, key+"."+k) && says(value) {
						o.unknown = append(o.unknown, path+"."+key+"."+k)
					}
				}
			}
			if !slices.Contains(keys, key) && says(v) {
				o.unknown = append(o.unknown, path+"."+key)
			}
		}
	}
}

// says reports whether a value says something: outputs have empty values for what was left out.
func says(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case float64:
		return v != 0
	case bool:
		return v
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func names[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return shortlist.Names(slices.Sorted(maps.Keys(m)), 5)
}

// describe adds line and column to an error of syntax.
func describe(err error, text []byte) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	before := text[:min(int(syntax.Offset), len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Errorf("line %d, column %d: %w", line, len(before)-bytes.LastIndexByte(before, '\n')-1, err)
}
