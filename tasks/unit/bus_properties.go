package unit

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/tasks/systembus"
)

// buses are the D-Bus connections of this process, by socket. An agent has one and
// keeps it until it exits.
var buses = struct {
	sync.Mutex
	at map[string]*systembus.Conn
}{at: map[string]*systembus.Conn{}}

// busProperties reads a unit's properties from systemd over the host's D-Bus, at an
// eighth of the cost of systemctl, which starts a program and opens a connection.
// After any error it returns nil: systemctl, which is used then, reports the reason.
func busProperties(ctx context.Context, sys engine.System, name string) map[string]string {
	buses.Lock()
	defer buses.Unlock()
	socket := sys.Path(systembus.Socket)
	conn := buses.at[socket]
	if conn == nil {
		var err error
		if conn, err = systembus.Dial(ctx, socket); err != nil {
			return nil
		}
		buses.at[socket] = conn
	}
	all, err := conn.Properties(ctx, "org.freedesktop.systemd1", object(name))
	if err != nil {
		delete(buses.at, socket)
		_ = conn.Close() // an error ends its use
		return nil
	}
	said := map[string]string{}
	for _, p := range strings.Split(properties, ",") {
		said[p] = inWords(all[p])
	}
	return said
}

// object returns the D-Bus object path of a unit.
func object(name string) string {
	var b strings.Builder
	b.WriteString("/org/freedesktop/systemd1/unit/")
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter || i > 0 && c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// inWords formats a property as systemctl does.
func inWords(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case uint32, int32, uint64:
		return fmt.Sprint(v)
	case []byte: // an id
		return hex.EncodeToString(v)
	case []string: // paths
		return strings.Join(v, " ")
	case []any: // the name and text of an error
		words := make([]string, len(v))
		for i, word := range v {
			words[i], _ = word.(string)
		}
		return strings.TrimSpace(strings.Join(words, " "))
	}
	return ""
}
