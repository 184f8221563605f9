/** What a model call costs, by the user's list of prices. */

const MILLION = 1_000_000;

/** The cost of a call in the currency of the prices; null if the model has no price. */
export function costOf(
  prices,
  model,
  { input_tokens: input, cached_tokens: cached, output_tokens: output },
) {
  const price = priceOf(prices, model);
  if (!price || (input == null && output == null)) return null;
  const fresh = (input ?? 0) - (cached ?? 0);
  return (
    (fresh * price.input +
      (cached ?? 0) * (price.cached ?? price.input) +
      (output ?? 0) * price.output) /
    MILLION
  );
}

/** By the name, else by the longest beginning of it that the list has. */
function priceOf(prices, model) {
  if (model == null) return undefined;
  if (Object.hasOwn(prices, model)) return prices[model];
  const fits = Object.keys(prices).filter(
    (name) => name.endsWith("*") && model.startsWith(name.slice(0, -1)),
  );
  return prices[fits.sort((a, b) => b.length - a.length)[0]];
}
