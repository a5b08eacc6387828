package wait

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"deployer/engine"
)

// alive are the states of a connection that may still carry data, by the kernel's
// numbers: established to the second FIN.
var alive = []string{"01", "02", "03", "04", "05"}

// drained requires that no connection to a port of this host is open; see
// proc_pid_net(5). When host is an address, only its connections count.
func drained(sys engine.System, host string, port int) error {
	only, _ := netip.ParseAddr(host) // a name counts as no address
	count := 0
	var err error
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, failed := os.ReadFile(sys.Path(table))
		if failed != nil && table == "/proc/net/tcp" {
			err = failed // a host without IPv6 lacks the second file
		}
		count += connections(string(data), only, port)
	}
	if err != nil {
		return err
	}
	if count > 0 {
		return fmt.Errorf("%d connections to port %d are left", count, port)
	}
	return nil
}

// connections counts rows such as "0: 0100007F:1F90 0200007F:C350 01 ...": number, local
// and remote address, state.
func connections(table string, only netip.Addr, port int) int {
	count := 0
	for row := range strings.Lines(table) {
		f := strings.Fields(row)
		if len(f) < 4 || !slices.Contains(alive, f[3]) {
			continue
		}
		address, number, ok := strings.Cut(f[1], ":")
		n, err := strconv.ParseUint(number, 16, 16)
		if !ok || err != nil || int(n) != port {
			continue
		}
		if !only.IsValid() || addressOf(address) == only.Unmap() {
			count++
		}
	}
	return count
}

// addressOf parses an address in the kernel's notation: words of 32 bits in the byte
// order of the machine, little-endian on amd64 and arm64.
func addressOf(text string) netip.Addr {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw)%4 != 0 {
		return netip.Addr{}
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, _ := netip.AddrFromSlice(raw)
	return addr.Unmap()
}
