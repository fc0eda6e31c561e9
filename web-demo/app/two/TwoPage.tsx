export default function TwoPage() {
  return null;
}
