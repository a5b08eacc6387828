package fleet

import (
	"context"
	"encoding/json"
	"io"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/remote/fakehost"
	"deployer/engine/transport/sshtest"
)

// Hostile returns an Exec for Options with compromised hosts: those for which evil
// returns a script. Instead of running the agent, such a host sends the agent's hello
// and then executes the script on the connection, which ends when the script returns.
// The script can write bytes that no agent sends to raw. The other hosts run the
// agent.
func Hostile(evil func(h *Host) func(conn *protocol.Conn, raw io.Writer)) func(context.Context, *Host, sshtest.Command, func(sshtest.Command) int) int {
	return func(_ context.Context, h *Host, c sshtest.Command, serve func(sshtest.Command) int) int {
		script := evil(h)
		if script == nil {
			return serve(c)
		}
		err := fakehost.Answer(c.Line, c.Stdout, func() error {
			conn := protocol.NewConn(c.Stdin, c.Stdout, protocol.AgentEnd)
			facts, err := json.Marshal(engine.Facts{Hostname: h.Name, OS: "debian", OSVersion: "12", Arch: "amd64"})
			if err != nil {
				return err
			}
			if err := conn.SendJSON(protocol.Hello, 0, protocol.HelloMessage{Version: protocol.Version, Facts: facts}); err != nil {
				return err
			}
			script(conn, c.Stdout)
			return nil
		})
		if err != nil {
			return 1
		}
		return 0
	}
}

// Await receives messages until one has one of the types; it returns false when the
// controller is gone. It grants the run lock that the controller requests, and
// answers with an empty journal.
func Await(conn *protocol.Conn, types ...protocol.Type) (protocol.Frame, bool) {
	for {
		f, err := conn.Receive()
		if err != nil {
			return protocol.Frame{}, false
		}
		for _, t := range types {
			if f.Type == t {
				return f, true
			}
		}
		switch f.Type {
		case protocol.Lock:
			err = conn.SendJSON(protocol.Locked, f.ID, protocol.LockMessage{})
		case protocol.Journal:
			err = conn.SendJSON(protocol.JournalPage, f.ID, protocol.JournalMessage{})
		}
		if err != nil {
			return protocol.Frame{}, false
		}
	}
}
