package server

import "testing"

// Up to the limit, and no further, whatever stands before.
func TestAppendPadding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ size, limit, want int }{
		{0, maxMessage, 468}, {464, maxMessage, 468}, {465, maxMessage, 936}, {932, 936, 936},
		{65516, maxMessage, 65520}, {65517, maxMessage, maxMessage}, {maxMessage - 4, maxMessage, maxMessage},
		{maxMessage - 3, maxMessage, maxMessage - 3}, // no room for the option
	} {
		dst := appendPadding(make([]byte, test.size), test.size, test.limit)
		if len(dst) != test.want {
			t.Errorf("%d octets become %d, want %d", test.size, len(dst), test.want)
		}
	}
}

// What fills a message to its last octet leaves room for the option.
func TestPaddedLargeReply(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	for _, words := range []string{"a5000.corp.test A tls option=12:", "txt.corp.test TXT https option=12:", "a1000.corp.test A tls option=12:"} {
		query, peer := askFor(t, words)
		reply, outcome := Respond(nil, query, snap, peer)
		if len(reply)%paddingBlock != 0 && len(reply) != maxMessage {
			t.Errorf("%s: %d octets", words, len(reply))
		}
		checkReply(t, query, reply, outcome, peer.Transport)
	}
}
