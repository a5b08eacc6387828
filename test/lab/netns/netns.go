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

// dir is where ip-netns(8) keeps named network namespaces.
const dir = "/run/netns"

// Path is the file that stands for a named namespace.
func Path(name string) string { return filepath.Join(dir, name) }

// Exists says whether a namespace of that name is there.
func Exists(name string) bool {
	_, err := os.Stat(Path(name))
	return err == nil
}

// AddLab makes the lab's namespace with its bridge.
func AddLab(ctx context.Context, lab string) error {
	ns := plan.LabNamespace(lab)
	if err := add(ctx, ns); err != nil {
		return err
	}
	return batch(ctx, ns, labScript())
}

// AddHost makes the host's namespace afresh. One that an earlier boot left is
// removed first, and with it the addresses, routes and packet filter rules that
// a reboot of a real host clears.
func AddHost(ctx context.Context, lab, host string) error {
	if err := DeleteHost(ctx, lab, host); err != nil {
		return err
	}
	return add(ctx, plan.HostResource(lab, host))
}

// AdoptHost names the namespace of a running process as the host's.
func AdoptHost(ctx context.Context, lab, host, pid string) error {
	if err := DeleteHost(ctx, lab, host); err != nil {
		return err
	}
	ns := plan.HostResource(lab, host)
	_, err := command.Output(ctx, "ip", "netns", "attach", ns, pid)
	return err
}

// Plug joins the host's namespace to the lab's bridge and gives it its address.
func Plug(ctx context.Context, lab string, h plan.Host) error {
	ns := plan.HostResource(lab, h.Name)
	if err := batch(ctx, plan.LabNamespace(lab), portScript(h, ns)); err != nil {
		return err
	}
	return batch(ctx, ns, hostScript(h))
}

// SetPort moves the bridge's end of the host's cable up or down. Down, the host
// sees a lost carrier and keeps its addresses and routes, as with a pulled plug.
func SetPort(ctx context.Context, lab, host string, up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	_, err := command.Output(ctx, "ip", "-n", plan.LabNamespace(lab), "link", "set", host, state)
	return err
}

// DeleteHost unplugs a host and removes its namespace. The kernel takes a
// namespace apart some time after its removal, so the link goes first: its name
// is then free at once.
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

// Delete removes a namespace and with it every link in it; none is no error.
func Delete(ctx context.Context, name string) error {
	if !Exists(name) {
		return nil
	}
	_, err := command.Output(ctx, "ip", "netns", "delete", name)
	if err != nil && !Exists(name) {
		return nil // another process was faster
	}
	return err
}

// List names the namespaces of all labs.
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

// Enter is the command line that runs argv inside a namespace. Only the network
// changes: working directory, environment, files and exit code are the caller's.
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

// PortsUp says of each port of the lab's bridge, by host, whether it is switched
// on. Without a namespace there are no ports.
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
