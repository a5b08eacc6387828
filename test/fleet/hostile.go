package fleet

import (
	"context"
	"encoding/json"
	"io"

	"deployer/engine"
	"deployer/engine/remote/fakehost"
	"deployer/engine/transport/sshtest"
	"deployer/engine/wire"
)

// Hostile is an Exec of Options: the hosts for which evil returns a script have
// been broken into. Instead of the agent they say its hello, and then carry the
// script out on the connection; it ends when the script returns. What an agent
// could not send goes to raw. The others are honest.
func Hostile(evil func(h *Host) func(conn *wire.Conn, raw io.Writer)) func(context.Context, *Host, sshtest.Command, func(sshtest.Command) int) int {
	return func(_ context.Context, h *Host, c sshtest.Command, serve func(sshtest.Command) int) int {
		script := evil(h)
		if script == nil {
			return serve(c)
		}
		err := fakehost.Answer(c.Line, c.Stdout, func() error {
			conn := wire.NewConn(c.Stdin, c.Stdout, wire.AgentEnd)
			facts, err := json.Marshal(engine.Facts{Hostname: h.Name, OS: "debian", OSVersion: "12", Arch: "amd64"})
			if err != nil {
				return err
			}
			if err := conn.SendJSON(wire.Hello, 0, wire.HelloMessage{Version: wire.Version, Facts: facts}); err != nil {
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

// Await receives until a message of one of the types comes; false when the
// controller is gone. It takes the run lock that the controller asks for, and has
// an empty journal.
func Await(conn *wire.Conn, types ...wire.Type) (wire.Frame, bool) {
	for {
		f, err := conn.Receive()
		if err != nil {
			return wire.Frame{}, false
		}
		for _, t := range types {
			if f.Type == t {
				return f, true
			}
		}
		switch f.Type {
		case wire.Lock:
			err = conn.SendJSON(wire.Locked, f.ID, wire.LockMessage{})
		case wire.Journal:
			err = conn.SendJSON(wire.JournalPage, f.ID, wire.JournalMessage{})
		}
		if err != nil {
			return wire.Frame{}, false
		}
	}
}
