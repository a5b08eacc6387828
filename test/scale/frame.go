package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// watchEvent is what a client must know of an event to continue a watch.
type watchEvent struct {
	kind    string // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	version string // resource version of the object
	code    int    // of an ERROR: the HTTP status
}

// maxFrame is the maximum size of an event in bytes: etcd refuses objects above 1.5 MiB, and the
// message of an event is not much larger.
const maxFrame = 8 << 20

// readFrame reads one event of a watch in protobuf: four bytes with the length, then a WatchEvent
// (k8s.io/apimachinery, runtime/serializer/protobuf and meta/v1/generated.proto). It uses buffer when
// that is large enough, and returns it.
func readFrame(r io.Reader, buffer []byte) (watchEvent, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return watchEvent{}, buffer, err
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size > maxFrame {
		return watchEvent{}, buffer, fmt.Errorf("an event of %d bytes is too large", size)
	}
	if cap(buffer) < size {
		buffer = make([]byte, size)
	}
	buffer = buffer[:size]
	if _, err := io.ReadFull(r, buffer); err != nil {
		return watchEvent{}, buffer, err
	}
	event, err := parseEvent(buffer)
	return event, buffer, err
}

// protobufMagic begins every object in protobuf (runtime.Unknown follows).
const protobufMagic = "k8s\x00"

// parseEvent parses a WatchEvent: type = 1, object = 2 {raw = 1}. The object is runtime.Unknown behind
// four bytes, {typeMeta = 1, raw = 2}, and its metadata the field 1 in both a Status and all other kinds.
func parseEvent(data []byte) (watchEvent, error) {
	kind, err := field(data, 1)
	if err != nil {
		return watchEvent{}, err
	}
	object := data
	for _, step := range []struct {
		number protowire.Number
		prefix string
	}{{2, ""}, {1, protobufMagic}, {2, ""}} {
		if object, err = field(object, step.number); err != nil {
			return watchEvent{}, err
		}
		if len(object) < len(step.prefix) || string(object[:len(step.prefix)]) != step.prefix {
			return watchEvent{}, errors.New("the object of an event is not in protobuf")
		}
		object = object[len(step.prefix):]
	}
	event := watchEvent{kind: string(kind)}
	if event.kind == "ERROR" {
		event.code, err = number(object, 6) // Status.code
		return event, err
	}
	meta, err := field(object, 1)
	if err != nil {
		return event, err
	}
	version, err := field(meta, 6) // ObjectMeta.resourceVersion
	event.version = string(version)
	return event, err
}

// field returns the first field of that number, which has bytes; nil without one.
func field(message []byte, wanted protowire.Number) ([]byte, error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		if number == wanted && kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			return value, protowire.ParseError(min(n, 0))
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
	}
	return nil, nil
}

// number returns the first field of that number as an integer; 0 without one.
func number(message []byte, wanted protowire.Number) (int, error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		message = message[n:]
		if number == wanted && kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(message)
			return int(value), protowire.ParseError(min(n, 0))
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return 0, protowire.ParseError(n)
		}
		message = message[n:]
	}
	return 0, nil
}
