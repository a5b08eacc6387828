package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"text/template"

	"deployer/test/lab/plan"
)

//go:embed hostfiles
var hostFiles embed.FS

// podRange returns the pod range of the lab's host number i, which determines the
// third byte.
func podRange(i int) netip.Prefix {
	a := netip.MustParsePrefix(podSubnet).Addr().As4()
	a[2] = byte(i)
	return netip.PrefixFrom(netip.AddrFrom4(a), 24)
}

// configFiles returns the configuration files of host number i, by path.
func configFiles(i int, m *material, o overrides) (map[string][]byte, error) {
	files := map[string][]byte{}
	for path, name := range map[string]string{
		"/etc/systemd/system/containerd.service":                "containerd.service",
		"/etc/systemd/system/kubelet.service":                   "kubelet.service",
		"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf": "10-kubeadm.conf",
	} {
		content, err := hostFiles.ReadFile("hostfiles/" + name)
		if err != nil {
			return nil, err
		}
		files[path] = content
	}
	var err error
	if files["/etc/containerd/config.toml"], err = containerdConfig(m.pause, o.Containerd); err != nil {
		return nil, err
	}
	files["/etc/cni/net.d/10-bridge.conflist"], err = networkConfig(podRange(i))
	return files, err
}

// containerdConfig renders scalars as JSON does, which is TOML for them.
func containerdConfig(pause string, runtime map[string]any) ([]byte, error) {
	values := map[string]string{}
	for key, value := range runtime {
		scalar, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("containerd override %s: %w", key, err)
		}
		values[key] = string(scalar)
	}
	t, err := template.ParseFS(hostFiles, "hostfiles/containerd.toml.tmpl")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Pause": pause, "Runtime": values})
	return out.Bytes(), err
}

// networkConfig returns the CNI configuration of a bridge with addresses from the
// host's range, as deployer writes it. The routes between the hosts are static here,
// see routes.
func networkConfig(pods netip.Prefix) ([]byte, error) {
	type object = map[string]any
	return json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       "bench",
		"plugins": []object{
			{
				"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipMasq": true,
				"ipam": object{
					"type":   "host-local",
					"ranges": [][]object{{{"subnet": pods.String()}}},
					"routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
}

// routes returns the shell lines that add the routes of a host to the pods of the
// others.
func routes(host int, hosts []plan.Host) []string {
	var lines []string
	for i, h := range hosts {
		if i != host {
			lines = append(lines, fmt.Sprintf("ip route replace %s via %s", podRange(i), h.Address))
		}
	}
	return lines
}
