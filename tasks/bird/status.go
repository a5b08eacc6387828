// Package bird reads the state of BIRD, which exchanges the routes to pods: the
// established sessions, and the routes in the kernel. The gate bird_ready compares
// both with the state before a change.
package bird

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"

	"deployer/engine"
)

// defaultSocket is the control socket of BIRD in deployer's unit.
const defaultSocket = "/run/bird/bird.ctl"

// Status reads the state of BIRD and changes nothing. A BIRD that does not run has
// no sessions.
type Status struct {
	Socket string `yaml:"socket" rule:"path" doc:"BIRD's control socket; default /run/bird/bird.ctl"`
	// Gateways leave out the routes through addresses that no host has any more: BIRD keeps the
	// routes of a peer that has gone for some minutes.
	Gateways []string `yaml:"gateways" rule:"address" doc:"addresses that count as gateways of routes; default: all"`
}

var _ engine.Module = (*Status)(nil)

// ReadOnly reports that the module only reads.
func (*Status) ReadOnly() bool { return true }

// Check reads the state. The output has `sessions`, the names of the established BGP
// protocols, and `routes`, the prefixes that the kernel routes to a gateway.
func (s *Status) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	now := state{}
	if _, err := os.Stat(sys.Path(socketOf(s.Socket))); err == nil {
		if now.sessions, err = sessions(ctx, sys, s.Socket); err != nil {
			now.sessions = nil // BIRD is starting or stopping, so no session can be lost
		}
	}
	var err error
	if now.routes, err = routes(sys, s.Gateways...); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"sessions": now.established(), "routes": now.routes}), nil
}

// Apply is never needed.
func (*Status) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// state is the state of BIRD.
type state struct {
	sessions map[string]string // BGP protocol -> its state in the words of BIRD
	routes   []string          // prefixes, sorted
}

const established = "Established"

func (s state) established() []string {
	names := []string{}
	for name, said := range s.sessions {
		if said == established {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func socketOf(path string) string {
	if path == "" {
		return defaultSocket
	}
	return path
}

// sessions reads the BGP protocols from BIRD.
func sessions(ctx context.Context, sys engine.System, socket string) (map[string]string, error) {
	lines, err := ask(ctx, sys.Path(socketOf(socket)), "show protocols")
	if err != nil {
		return nil, err
	}
	return parseProtocols(lines), nil
}

// parseProtocols parses the table of protocols: name, protocol, table, state, since, and
// for BGP the state of the session.
func parseProtocols(lines []string) map[string]string {
	all := map[string]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 5 || f[1] != "BGP" {
			continue
		}
		all[f[0]] = f[3]
		if at := slices.Index(f[4:], established); at >= 0 && f[3] == "up" {
			all[f[0]] = established
		} else if len(f) > 5 {
			all[f[0]] = strings.Join(f[5:], " ")
		}
	}
	return all
}

// standbyMetric is the metric of the routes that the role bgp-transition sets for the time
// in which BIRD may have none.
const standbyMetric = "4096"

// routes returns the IPv4 prefixes of the kernel's main table that have a gateway,
// without the default route and standby routes, sorted. With gateways, only the routes through them
// count.
func routes(sys engine.System, gateways ...string) ([]string, error) {
	f, err := os.Open(sys.Path("/proc/net/route"))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil // a kernel without IPv4
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's routes: %w", err)
	}
	defer func() { _ = f.Close() }()
	all := []string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
		if len(fields) < 8 {
			continue
		}
		to, gateway, mask := address(fields[1]), address(fields[2]), address(fields[7])
		if !to.IsValid() || !mask.IsValid() || !gateway.IsValid() || gateway.IsUnspecified() || fields[6] == standbyMetric {
			continue
		}
		if len(gateways) > 0 && !slices.Contains(gateways, gateway.String()) {
			continue
		}
		if bits := ones(mask); bits > 0 {
			all = append(all, netip.PrefixFrom(to, bits).String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all), lines.Err()
}

// address parses four bytes in hex digits, the last byte of the address first.
func address(text string) netip.Addr {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return netip.Addr{} // the header of the table
	}
	return netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]})
}

func ones(mask netip.Addr) (n int) {
	for _, b := range mask.AsSlice() {
		for ; b != 0; b <<= 1 {
			n++
		}
	}
	return n
}
