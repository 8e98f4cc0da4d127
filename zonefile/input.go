package zonefile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of what one zone file may bring, its included files counted in.
const (
	maxIncluded  = 1000
	maxGenerated = 1 << 20 // lines
)

// A Finding is something wrong in a zone file.
type Finding struct {
	File string
	Line int // counted from 1; 0 where it is the whole file
	// Message is one sentence without capital and final stop, with the mend.
	Message string
}

// Error returns "file:line: message".
func (f Finding) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// A reading is one zone file being read, with the files that it includes. It is
// the file system of the parser's $INCLUDE: nothing outside the folder is ever
// opened, not even through a link.
type reading struct {
	folder    string
	root      *os.Root
	stack     []*input        // open files, the innermost last
	seen      []string        // files that were opened, or asked for
	sums      map[string]*sum // of those that were opened
	closed    *input          // the innermost that was closed last
	fault     error           // what stopped the reading, if it isn't the parser's
	included  int
	generated int
}

// Open implements fs.FS for $INCLUDE.
func (r *reading) Open(name string) (fs.File, error) {
	shown := filepath.Join(r.folder, name)
	r.seen = append(r.seen, shown)
	from := r.top()
	if r.included++; r.included > maxIncluded {
		return nil, r.fail(from.finding("more than %d files are included; put them together", maxIncluded))
	}
	content, err := fs.ReadFile(r.root.FS(), name)
	if err != nil {
		return nil, r.fail(from.finding("$INCLUDE %s can't be read (%w); name a file in the folder of the zone file", name, cause(err)))
	}
	return r.push(shown, content), nil
}

// cause leaves what is wrong: the path stands in the message already.
func cause(err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

func (r *reading) push(shown string, content []byte) *input {
	r.note(filepath.Clean(shown), sha256.Sum256(content))
	in := &input{reading: r, file: shown, rest: content, next: 1}
	r.stack = append(r.stack, in)
	return in
}

// note keeps the sum of a file, or that it has none since it changed meanwhile.
func (r *reading) note(path string, text sum) {
	if before, known := r.sums[path]; known && (before == nil || *before != text) {
		r.sums[path] = nil
		return
	}
	r.sums[path] = &text
}

func (r *reading) top() *input { return r.stack[len(r.stack)-1] }

func (r *reading) fail(err error) error {
	if r.fault == nil {
		r.fault = err
	}
	return err
}

// An input gives the parser a file entry by entry, so that it is known in which
// line what the parser returns began, and expands $GENERATE on the way.
type input struct {
	reading *reading
	file    string
	rest    []byte // not yet given
	next    int    // the line that rest begins with
	entry   []byte // being given
	at      int
	start   int // the line in which the entry began
	line    int // the line of the octet given last
	ended   bool
	made    *generator // while a $GENERATE is being expanded
}

func (in *input) finding(format string, args ...any) Finding {
	return Finding{in.file, max(in.line, in.start), fmt.Errorf(format, args...).Error()}
}

// ReadByte implements io.ByteReader, which the parser prefers.
func (in *input) ReadByte() (byte, error) {
	for in.at == len(in.entry) {
		if err := in.advance(); err != nil {
			return 0, err
		}
	}
	c := in.entry[in.at]
	in.at++
	if in.ended && in.made == nil {
		in.line++
	}
	in.ended = c == '\n'
	return c, nil
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	for i := range p {
		c, err := in.ReadByte()
		if err != nil {
			return i, err
		}
		p[i] = c
	}
	return len(p), nil
}

// Close implements io.Closer: the parser is back in the file that included this.
func (in *input) Close() error {
	stack := in.reading.stack
	if len(stack) > 1 && stack[len(stack)-1] == in {
		in.reading.stack = stack[:len(stack)-1]
		if in.reading.closed == nil {
			in.reading.closed = in
		}
	}
	return nil
}

// Stat implements fs.File; nobody asks.
func (in *input) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// advance goes on to the next entry.
func (in *input) advance() error {
	if in.made != nil {
		if in.entry, in.at = mend(in.made.line()), 0; in.entry != nil {
			return nil
		}
		in.made = nil
	}
	if len(in.rest) == 0 {
		return io.EOF
	}
	n := entryLength(in.rest)
	in.entry, in.rest, in.at, in.ended = in.rest[:n], in.rest[n:], 0, false
	in.start, in.line = in.next, in.next
	in.next += bytes.Count(in.entry, []byte{'\n'})
	if bytes.IndexByte(in.entry, '\r') >= 0 {
		in.entry = bytes.ReplaceAll(in.entry, []byte("\r\n"), []byte("\n"))
	}
	if len(in.entry) == 0 || in.entry[0] != '$' {
		in.entry = mend(in.entry)
		return nil
	}
	fields := strings.Fields(string(in.entry))
	switch strings.ToUpper(fields[0]) {
	case "$GENERATE":
		return in.generate(fields[1:])
	case "$INCLUDE":
		return in.include(fields[1:])
	}
	return nil
}

// include refuses paths that leave the folder; what is left the parser opens
// through the reading.
func (in *input) include(fields []string) error {
	if len(fields) == 0 {
		return nil // the parser's fault to tell
	}
	name := strings.Trim(fields[0], `"`)
	if path.IsAbs(name) || strings.Contains("/"+name+"/", "/../") {
		return in.reading.fail(in.finding("$INCLUDE %s leaves the folder of the zone file; name a file in it, without .. and leading /", name))
	}
	return nil
}

// entryLength returns how many octets the first entry has, its line end
// included: a line, or several where parentheses hold them together.
func entryLength(text []byte) int {
	depth, quoted, comment := 0, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n' && depth <= 0 && !quoted:
			return i + 1
		case c == '\n':
			comment = false
		case comment:
		case c == '\\':
			if i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';':
			comment = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return len(text)
}
