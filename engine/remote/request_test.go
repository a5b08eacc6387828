package remote

import (
	"net"
	"strings"
	"testing"
	"time"

	"deployer/engine/lock"
	"deployer/engine/protocol"
	"deployer/engine/transport"
)

// TestHostThatAnswersNoQuestion: a host that keeps its connection alive and answers
// no request loses its session, so that no run waits for it.
func TestHostThatAnswersNoQuestion(t *testing.T) {
	for name, question := range map[string]func(*Session) error{
		"journal": func(s *Session) error { _, err := s.Journal(t.Context(), "r1"); return err },
		"lock":    func(s *Session) error { return s.Lock(t.Context(), lock.Holder{Run: "r1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			go func() {
				conn := protocol.NewConn(far, far, protocol.AgentEnd)
				if conn.SendJSON(protocol.Hello, 0, protocol.HelloMessage{Version: protocol.Version, Facts: []byte("{}")}) != nil {
					return
				}
				go func() {
					for conn.SendJSON(protocol.Heartbeat, 0, struct{}{}) == nil {
						time.Sleep(10 * time.Millisecond)
					}
				}()
				for {
					if _, err := conn.Receive(); err != nil {
						return
					}
				}
			}()
			s, err := openOver(near, Options{Host: "m1", Timeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			err = question(s)
			if err == nil || !strings.Contains(err.Error(), "no answer to a "+name+" message within 200ms") {
				t.Fatalf("got %v", err)
			}
			if kind := transport.KindOf(err); kind != transport.Protocol {
				t.Errorf("kind %v: it would be connected to again", kind)
			}
		})
	}
}
