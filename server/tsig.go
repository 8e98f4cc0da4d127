package server

import "encoding/binary"

// This server has no keys yet, so that every key is an unknown one. The reply
// to it is NOTAUTH with an unsigned TSIG record that says BADKEY (RFC 8945
// sections 5.2.1 and 5.3.2): the client then knows that the key is at fault
// and not the zone.

const tsigBadKey = 17

// tsigFixed is the length of a TSIG record's data without the algorithm's name,
// the MAC and other data: time signed (6), fudge (2), MAC size (2), original id
// (2), error (2), other length (2).
const tsigFixed = 16

// validTSIG checks the layout of a TSIG record's data (RFC 8945 section 4.2).
func validTSIG(msg []byte, rec record) bool {
	if _, ok := appendExpanded(make([]byte, 0, maxName), msg, rec.start); !ok {
		return false
	}
	if _, ok := appendExpanded(make([]byte, 0, maxName), msg, rec.data); !ok {
		return false
	}
	at, ok := skipName(msg, rec.data)
	if !ok || at+tsigFixed > rec.end {
		return false
	}
	mac := int(binary.BigEndian.Uint16(msg[at+8:]))
	if at+tsigFixed+mac > rec.end {
		return false
	}
	other := int(binary.BigEndian.Uint16(msg[at+10+mac+4:]))
	return at+tsigFixed+mac+other == rec.end
}

// appendBadKey appends the TSIG record of the reply to m, whose query is msg:
// key, algorithm, time and fudge as they came, no MAC, the error BADKEY.
func appendBadKey(dst, msg []byte, m *message) []byte {
	dst, _ = appendExpanded(dst, msg, m.tsigOwner)
	dst = append(dst, 0, typeTSIG, 0, classANY, 0, 0, 0, 0, 0, 0)
	length := len(dst) - 2
	dst, _ = appendExpanded(dst, msg, m.tsigData)
	at, _ := skipName(msg, m.tsigData)
	mac := int(binary.BigEndian.Uint16(msg[at+8:]))
	dst = append(dst, msg[at:at+8]...)               // time signed, fudge
	dst = append(dst, 0, 0)                          // MAC size
	dst = append(dst, msg[at+10+mac:at+10+mac+2]...) // original id
	dst = append(dst, 0, tsigBadKey, 0, 0)           // error, other length
	binary.BigEndian.PutUint16(dst[length:], uint16(len(dst)-length-2))
	return dst
}
