package jsonappend

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func likeJSON(t *testing.T, got []byte, v any) {
	t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != want.String() {
		t.Errorf("got  %s\nwant %s", got, want.Bytes())
	}
}

func TestFields(t *testing.T) {
	type fields struct {
		First string `json:"first"`
		Text  string `json:"text,omitempty"`
		N     int    `json:"n,omitempty"`
		Is    bool   `json:"is,omitempty"`
	}
	for _, f := range []fields{{}, {First: "a", Text: "b", N: -3, Is: true}, {Text: "\"<&\u2028"}} {
		out := AppendString([]byte(`{"first":`), f.First)
		out = AppendTrue(AppendNumber(AppendField(out, "text", f.Text), "n", f.N), "is", f.Is)
		likeJSON(t, append(out, '}'), f)
	}
}

func TestTime(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(1795334400, 0).UTC(), time.Unix(1795334400, 120).In(time.FixedZone("", -5400))} {
		likeJSON(t, AppendTime(nil, at), at)
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "é<>&\"\\\n\t\r\b\f\x00\x1f\x7f", "\u2028\u2029\u2030", "\xff\xed\xa0\x80\xe2\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { likeJSON(t, AppendString(nil, s), s) })
}
