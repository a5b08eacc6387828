package netns

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/test/lab/command"
	"deployer/test/lab/plan"
)

// dir is the directory in which ip-netns(8) stores named network namespaces.
const dir = "/run/netns"

// Path returns the file of a named namespace.
func Path(name string) string { return filepath.Join(dir, name) }

// Exists reports whether a namespace of that name exists.
func Exists(name string) bool {
	_, err := os.Stat(Path(name))
	return err == nil
}

// AddLab creates the lab's namespace with its bridge.
func AddLab(ctx context.Context, lab string) error {
	ns := plan.LabNamespace(lab)
	if err := add(ctx, ns); err != nil {
		return err
	}
	return batch(ctx, ns, labScript())
}

// AddHost creates the host's namespace. It removes the namespace of an earlier boot first,
// with the addresses, routes and packet filter rules that a reboot of a real host
// clears.
func AddHost(ctx context.Context, lab, host string) error {
	if err := DeleteHost(ctx, lab, host); err != nil {
		return err
	}
	return add(ctx, plan.HostResource(lab, host))
}

// AdoptHost gives the namespace of a running process the name of the host's namespace.
func AdoptHost(ctx context.Context, lab, host, pid string) error {
	if err := DeleteHost(ctx, lab, host); err != nil {
		return err
	}
	ns := plan.HostResource(lab, host)
	_, err := command.Output(ctx, "ip", "netns", "attach", ns, pid)
	return err
}

// Plug connects the host's namespace to the lab's bridge and sets its address.
func Plug(ctx context.Context, lab string, h plan.Host) error {
	ns := plan.HostResource(lab, h.Name)
	if err := batch(ctx, plan.LabNamespace(lab), portScript(h, ns)); err != nil {
		return err
	}
	return batch(ctx, ns, hostScript(h))
}

// SetPort switches the bridge's end of the host's link up or down. When it is down the
// host has no carrier and keeps its addresses and routes, as with an unplugged cable.
func SetPort(ctx context.Context, lab, host string, up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	_, err := command.Output(ctx, "ip", "-n", plan.LabNamespace(lab), "link", "set", host, state)
	return err
}

// DeleteHost removes the link and the namespace of a host. It removes the link first, so
// that its name is free immediately: the kernel destroys a namespace some time after its
// removal.
func DeleteHost(ctx context.Context, lab, host string) error {
	ports, err := PortsUp(ctx, lab)
	if err != nil {
		return err
	}
	if has(ports, host) {
		_, err := command.Output(ctx, "ip", "-n", plan.LabNamespace(lab), "link", "delete", host)
		if left, look := PortsUp(ctx, lab); err != nil && (look != nil || has(left, host)) {
			return err
		}
	}
	return Delete(ctx, plan.HostResource(lab, host))
}

func has(ports map[string]bool, host string) bool {
	_, ok := ports[host]
	return ok
}

// Delete removes a namespace with all links in it. A missing namespace is no error.
func Delete(ctx context.Context, name string) error {
	if !Exists(name) {
		return nil
	}
	_, err := command.Output(ctx, "ip", "netns", "delete", name)
	if err != nil && !Exists(name) {
		return nil // another process has removed it
	}
	return err
}

// List returns the names of the namespaces of all labs.
func List() ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := plan.LabOf(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Enter returns the command line that runs argv inside a namespace. Only the network
// differs: working directory, environment, files and exit code are the caller's.
func Enter(name string, argv ...string) []string {
	return append([]string{"nsenter", "--net=" + Path(name), "--"}, argv...)
}

func add(ctx context.Context, name string) error {
	_, err := command.Output(ctx, "ip", "netns", "add", name)
	return err
}

func batch(ctx context.Context, name, script string) error {
	if _, err := command.Input(ctx, strings.NewReader(script), "ip", "-n", name, "-batch", "-"); err != nil {
		return fmt.Errorf("setting up network namespace %s: %w", name, err)
	}
	return nil
}

// PortsUp returns the ports of the lab's bridge by host; true means that the port is up.
// Without a namespace the map is empty.
func PortsUp(ctx context.Context, lab string) (map[string]bool, error) {
	ns := plan.LabNamespace(lab)
	if !Exists(ns) {
		return nil, nil
	}
	out, err := command.Output(ctx, "ip", "-n", ns, "-json", "link", "show", "master", plan.Bridge)
	if err != nil || out == "" {
		return nil, err
	}
	var links []struct {
		Name  string   `json:"ifname"`
		Flags []string `json:"flags"`
	}
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		return nil, fmt.Errorf("reading the links of lab %s: %w", lab, err)
	}
	up := map[string]bool{}
	for _, l := range links {
		up[l.Name] = slices.Contains(l.Flags, "UP")
	}
	return up, nil
}
