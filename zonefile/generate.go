package zonefile

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSteps bounds one $GENERATE.
const maxSteps = 65536

// A generator makes the lines of one $GENERATE: "range owner [TTL] [class] type
// data", as BIND has it. In owner and data, $ stands for the number, \$ and $$ for
// the sign itself, and ${offset,width,base} for the number moved, padded with
// zeros, and in base d, o, x, X, or n and N for its nibbles from the right.
type generator struct {
	at, last, step int64
	template       string
	in             *input
}

func (in *input) generate(fields []string) error {
	bad := func(format string, args ...any) error {
		return in.reading.fail(in.finding("$GENERATE: "+format, args...))
	}
	if len(fields) < 4 {
		return bad("it needs a range, a name, a type and data, like \"$GENERATE 1-9 host$ A 192.0.2.$\"")
	}
	g := &generator{step: 1, in: in}
	span, stepText, hasStep := strings.Cut(fields[0], "/")
	from, to, isRange := strings.Cut(span, "-")
	var errs [3]error
	g.at, errs[0] = strconv.ParseInt(from, 10, 32)
	g.last, errs[1] = strconv.ParseInt(to, 10, 32)
	if hasStep {
		g.step, errs[2] = strconv.ParseInt(stepText, 10, 32)
	}
	if !isRange || errs != [3]error{} || g.at < 0 || g.last < g.at || g.step < 1 {
		return bad("%s is no range; write it like 1-254 or 0-100/2", fields[0])
	}
	steps := (g.last-g.at)/g.step + 1
	if steps > maxSteps {
		return bad("%s has more than %d steps; part it", fields[0], maxSteps)
	}
	if in.reading.generated += int(steps); in.reading.generated > maxGenerated {
		return bad("more than %d records are made in one zone; write a zone file for each part", maxGenerated)
	}
	entry := strings.TrimRight(string(in.entry), "\n")
	rest := strings.TrimLeft(entry[len("$GENERATE"):], " \t")
	g.template = strings.TrimLeft(strings.TrimPrefix(rest, fields[0]), " \t")
	if _, err := g.expand(g.at); err != nil {
		return bad("%w", err)
	}
	in.made = g
	in.entry, in.at = nil, 0
	return nil
}

// line returns the next line, or nil after the last.
func (g *generator) line() []byte {
	if g.at > g.last {
		return nil
	}
	text, err := g.expand(g.at)
	if err != nil {
		return nil // as at the first number: refused there
	}
	g.at += g.step
	return append(text, '\n')
}

func (g *generator) expand(n int64) ([]byte, error) {
	var out []byte
	t := g.template
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == '\\' && i+1 < len(t) && t[i+1] == '$', t[i] == '$' && i+1 < len(t) && t[i+1] == '$':
			i++
			out = append(out, '$')
		case t[i] == '\\' && i+1 < len(t):
			out = append(out, t[i], t[i+1])
			i++
		case t[i] == '$' && i+1 < len(t) && t[i+1] == '{':
			end := strings.IndexByte(t[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf("a \"${\" has no \"}\"")
			}
			text, err := modified(t[i+2:i+end], n)
			if err != nil {
				return nil, err
			}
			out = append(out, text...)
			i += end
		case t[i] == '$':
			out = strconv.AppendInt(out, n, 10)
		default:
			out = append(out, t[i])
		}
	}
	return out, nil
}

// modified returns the number as a modifier "offset[,width[,base]]" wants it.
func modified(text string, n int64) (string, error) {
	parts := strings.Split(text, ",")
	offset, err := strconv.ParseInt(parts[0], 10, 32)
	width := 0
	if err == nil && len(parts) > 1 {
		width, err = strconv.Atoi(parts[1])
	}
	base := "d"
	if len(parts) > 2 {
		base = parts[2]
	}
	if err != nil || len(parts) > 3 || width < 0 || width > 255 {
		return "", fmt.Errorf("${%s} is no modifier; write it like ${0,3,d}", text)
	}
	if n += offset; n < 0 {
		return "", fmt.Errorf("${%s} makes a number below 0", text)
	}
	switch base {
	case "d", "o", "x", "X":
		return fmt.Sprintf("%0*"+base, width, n), nil
	case "n", "N":
		// The width counts the dots, too.
		format := map[string]string{"n": "%x", "N": "%X"}[base]
		digits := fmt.Sprintf(format, n)
		for len(digits)*2-1 < width {
			digits = "0" + digits
		}
		var nibbles []string
		for i := len(digits) - 1; i >= 0; i-- {
			nibbles = append(nibbles, digits[i:i+1])
		}
		return strings.Join(nibbles, "."), nil
	}
	return "", fmt.Errorf("${%s} has no base %s; there are d, o, x, X, n and N", text, base)
}
